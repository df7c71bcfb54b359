// Replaces tap while mutants are tried: runs the same test files many times in one process, up to the first failure.
// tap itself runs a file once a process, and takes longer to load than most files to run.
// Invariant: results equal tap's own; an unknown function fails, which is reported before any mutant is tried.
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

/** A property that holds against a mutant for so many runs counts as not noticing it: hundreds more take long and find next to nothing. */
let mostPropertyRuns = Number(process.env.KUBELET_TS_PROPERTY_RUNS ?? 40);

/** For files that count what their runs have met: as many runs as they ask for, here and in processes begun from here. */
export function allPropertyRuns() {
  mostPropertyRuns = Number.POSITIVE_INFINITY;
  process.env.KUBELET_TS_PROPERTY_RUNS = 'Infinity';
}

/** Where tap and fast-check are asked for by their names, what is here is given. Once a process. */
export function standForTap() {
  const here = JSON.stringify(import.meta.url);
  const stands = {
    tap: asModule(`import { stand } from ${here}; export default stand;`),
    'fast-check': asModule(`import fc from ${JSON.stringify(import.meta.resolve('fast-check'))}; import { fewerRuns } from ${here}; export default fewerRuns(fc);`),
  };
  register(
    asModule(`const stands = ${JSON.stringify(stands)};
      export const resolve = (name, context, next) => name in stands ? { url: stands[name], shortCircuit: true } : next(name, context);`),
  );
}

export function fewerRuns(fc) {
  return { ...fc, assert: (property, options = {}) => fc.assert(property, { ...options, numRuns: Math.min(options.numRuns ?? 100, mostPropertyRuns) }) };
}

function asModule(source) {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

class Failure extends Error {}

/** Of the file that runs now: its first failure, and the end of what was begun last. */
let failure = null;
let last = Promise.resolve();
let runs = 0;

/** null: all passed. The file's own module is loaded again each time, its imports only once. */
export async function problemOfFile(path) {
  failure = null;
  last = Promise.resolve();
  try {
    await import(`${pathToFileURL(path).href}?run=${++runs}`);
    for (let seen = null; seen !== last; ) {
      seen = last;
      await seen;
    }
  } catch (error) {
    failure ??= error;
  }
  return failure === null ? null : `${path}: ${String(failure.message ?? failure).slice(0, 300)}`;
}

function fail(message) {
  failure ??= new Failure(message ?? 'failed');
  throw failure;
}

function check(holds, message) {
  if (!holds) fail(message);
  return true;
}

function matches(value, pattern) {
  if (pattern instanceof RegExp) return pattern.test(value instanceof Error ? value.message : String(value));
  if (typeof pattern === 'string') return typeof value === 'string' && value.includes(pattern);
  if (typeof pattern === 'function') {
    if (pattern === String || pattern === Number || pattern === Boolean || pattern === BigInt) return typeof value === pattern.name.toLowerCase();
    return value instanceof pattern;
  }
  if (pattern instanceof Map) return value instanceof Map && [...pattern].every(([key, member]) => value.has(key) && matches(value.get(key), member));
  if (pattern instanceof Set || pattern instanceof Uint8Array) return isDeepStrictEqual(value, pattern);
  if (typeof pattern !== 'object' || pattern === null) return Object.is(value, pattern);
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(pattern)) return false;
  return Object.keys(pattern).every((key) => matches(value[key], pattern[key]));
}

function thrownBy(act) {
  try {
    act();
  } catch (error) {
    return { error };
  }
  return null;
}

/** A stray failure inside a property is found again by the assertion around it. */
const rethrowFailure = (thrown) => {
  if (failure !== null) throw failure;
  return thrown;
};

const known = {
  test: (name, ...rest) => {
    const act = rest.at(-1);
    last = last.then(async () => {
      if (failure === null && typeof act === 'function') await runTest(name, act);
    });
    return last;
  },
  equal: (value, wanted, message) => check(Object.is(value, wanted), message),
  not: (value, wanted, message) => check(!Object.is(value, wanted), message),
  strictSame: (value, wanted, message) => check(isDeepStrictEqual(value, wanted), message),
  same: (value, wanted, message) => check(isDeepStrictEqual(value, wanted), message),
  match: (value, pattern, message) => check(matches(value, pattern), message),
  notMatch: (value, pattern, message) => check(!matches(value, pattern), message),
  ok: (value, message) => check(Boolean(value), message),
  notOk: (value, message) => check(!value, message),
  pass: () => true,
  fail,
  throws: (act, wanted, message) => {
    const thrown = rethrowFailure(thrownBy(act));
    return check(thrown !== null && (wanted === undefined || typeof wanted === 'string' || matches(thrown.error, wanted)), message);
  },
  doesNotThrow: (act, message) => {
    const thrown = rethrowFailure(thrownBy(act));
    return check(thrown === null, thrown === null ? message : thrown.error.message);
  },
  comment: () => undefined,
  /** Tests of the domain end with their function. */
  end: () => undefined,
  setTimeout: () => undefined,
};

export const stand = new Proxy(known, {
  get: (_, name) => known[name] ?? (name === 'then' ? undefined : () => fail(`${String(name)} is not known to mutation-tap.mjs`)),
});

/** Tests within a test run when it ends, unless it waits for them. */
async function runTest(name, act) {
  const outer = last;
  last = Promise.resolve();
  try {
    await act(stand);
    for (let seen = null; seen !== last; ) {
      seen = last;
      await seen;
    }
  } catch (error) {
    failure ??= new Failure(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    last = outer;
  }
}
