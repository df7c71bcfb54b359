// The package entry `kubelet-ts/domain`: it runs in a bare language environment, its examples work as documented, and bad input to
// any of its functions gives a value or an assertion that names the argument.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import fc from 'fast-check';
import t from 'tap';
import * as domain from '../../src/domain/index.js';
import { entrySamples, machineParts } from './entry-samples.js';

t.setTimeout(300_000);

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Examples of single decisions; what imports the world is run by test/sim/world-example.test.ts. */
const examples = readdirSync(`${root}examples/embed`).filter(
  (name) => name.endsWith('.mjs') && !readFileSync(`${root}examples/embed/${name}`, 'utf8').includes("'kubelet-ts/sim'"),
);
const call = domain as unknown as Readonly<Record<string, (...values: unknown[]) => unknown>>;

/** Required lines of an example's output. */
const sayings: Readonly<Record<string, readonly RegExp[]>> = {
  'admission.mjs': [/^large .*OutOfcpu: .*requested: 1000, used: 3500, capacity: 4000$/m, /^critical .*admitted, preempts \[batch\]$/m],
  'eviction.mjs': [/^120 s, .*acts \[memory.available soft\]$/m, /^evicted in this order: greedy, careless, important, modest$/m],
  'cpu-assignment.mjs': [/^database, 8 CPUs: 4-7,12-15$/m, /^cpu and gpu: NUMA nodes \[1\], admitted$/m],
  'backoff.mjs': [/^617 s: start 8$/m, /^30 s: attempt 3: ErrImagePull: not found$/m],
};

async function bundled(contents: string): Promise<string> {
  const result = await build({
    ...{ stdin: { contents, resolveDir: `${root}examples/embed` }, bundle: true, platform: 'browser', format: 'iife', target: 'es2023' },
    ...{ alias: { 'kubelet-ts/domain': `${root}dist/src/domain/index.js` }, write: false, logLevel: 'silent' },
  });
  return result.outputFiles[0]!.text;
}

/** A context that has the language and nothing of Node: no process, Buffer, timers, console, TextEncoder. */
function bareContext(lines: string[]): object {
  return createContext({ console: { log: (line: string) => lines.push(line) } }, { codeGeneration: { strings: false, wasm: false } });
}

t.test('examples: short, and the same in Node as in a bare browser bundle', async (t) => {
  t.strictSame(examples.sort(), Object.keys(sayings).sort());
  for (const name of examples) {
    const source = readFileSync(`${root}examples/embed/${name}`, 'utf8');
    t.ok(source.split('\n').length <= 60, `${name} has fewer than 60 lines`);
    const inNode = execFileSync(process.execPath, [`${root}examples/embed/${name}`], { encoding: 'utf8' });
    for (const saying of sayings[name]!) t.match(inNode, saying);
    const lines: string[] = [];
    runInContext(await bundled(source), bareContext(lines), { timeout: 10_000 });
    t.equal(`${lines.join('\n')}\n`, inNode, `${name} in a bare context`);
  }
});

t.test('the whole entry loads in a bare context', async (t) => {
  const lines: string[] = [];
  runInContext(await bundled("import * as domain from 'kubelet-ts/domain'; console.log(Object.keys(domain).sort().join());"), bareContext(lines), { timeout: 10_000 });
  t.equal(lines[0], Object.keys(domain).sort().join());
});

t.test('each function has good samples, which it takes', async (t) => {
  const functions = Object.entries(domain).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
  t.strictSame(functions.filter((name) => !machineParts.includes(name)).sort(), Object.keys(entrySamples).sort());
  for (const [name, values] of Object.entries(entrySamples)) t.doesNotThrow(() => call[name]!(...values()), name);
});

/** Values of every kind, good for one place or another. */
const junk: readonly unknown[] = [
  ...[undefined, null, true, false, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -0, 5n, -(2n ** 70n), '', 'x', '1', '-1Ki', '1e999', '\u0000', '\ud800'],
  ...[[], [null], [1], ['a'], {}, { a: 1 }, { name: 'x' }, new Map(), new Map([[1, 1]]), new Set(), new Date(0), Symbol('s'), () => 1, /x/, new Uint8Array(2), Object.create(null)],
];

/** A copy in which one place, picked by `at`, is replaced. Places are the value itself and all that it is made of, Maps too. */
function spoiled(value: unknown, at: number, replacement: unknown): { readonly value: unknown; readonly places: number } {
  let places = 0;
  const visit = (part: unknown): unknown => {
    if (places++ === at) return replacement;
    if (Array.isArray(part)) return part.map(visit);
    if (part instanceof Map) return new Map([...part].map(([key, member]) => [key, visit(member)]));
    if (typeof part === 'object' && part !== null) return Object.fromEntries(Object.entries(part).map(([key, member]) => [key, visit(member)]));
    return part;
  };
  return { value: visit(value), places };
}

function parameterNames(name: string): string[] {
  const list = /\(([^)]*)\)/.exec(String(call[name]))?.[1] ?? '';
  return list.split(',').map((parameter) => parameter.replace(/=.*/, '').trim());
}

/** null: the call was answered, or refused with the name of the argument. */
function complaint(name: string, values: readonly unknown[]): string | null {
  const start = performance.now();
  try {
    call[name]!(...values);
  } catch (error) {
    if (!(error instanceof domain.AssertionFailed)) return `${name}: ${error instanceof Error ? error.stack : String(error)}`;
    const names = parameterNames(name);
    if (!names.some((parameter) => new RegExp(`^(a key of )?${parameter}\\b`).test(error.message))) return `${name}: names none of ${names}: ${error.message}`;
  }
  const took = performance.now() - start;
  return took < 5_000 ? null : `${name}: took ${took} ms`;
}

t.test('one place of the arguments spoiled: a value, or an assertion that names the argument', async (t) => {
  for (const [name, samples] of Object.entries(entrySamples)) {
    const { places } = spoiled(samples(), -1, null);
    const complaints = new Set<string>();
    for (let at = 1; at < places; at++) {
      // Each place gets a part of the junk, each kind of junk goes to many places: all to all would take a minute.
      for (const replacement of junk.filter((_, i) => (i + at) % 4 === 0)) {
        const found = complaint(name, spoiled(samples(), at, replacement).value as unknown[]);
        if (found !== null && complaints.size < 3) complaints.add(found);
      }
    }
    t.strictSame([...complaints], [], name);
  }
});

t.test('several places spoiled with anything', async (t) => {
  const names = Object.keys(entrySamples);
  const places = fc.array(fc.tuple(fc.nat(200), fc.oneof(fc.constantFrom(...junk), fc.anything())), { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(fc.constantFrom(...names), places, (name, changes) => {
      let values: unknown = entrySamples[name]!();
      for (const [at, replacement] of changes) values = spoiled(values, 1 + at, replacement).value;
      const found = complaint(name, values as unknown[]);
      if (found !== null) throw new Error(found);
    }),
    { numRuns: 3_000 },
  );
  t.pass();
});

t.test('what is wrong is named down to the field', async (t) => {
  const [input] = entrySamples.admitPod!() as [{ pod: { spec: object } }];
  const without = { ...input, pod: { ...input.pod, spec: { ...input.pod.spec, containers: null } } };
  t.throws(() => call.admitPod!(without), { name: 'AssertionFailed', message: 'input.pod.spec.containers: expected a list, got null' });
  t.throws(() => call.podRequests!({ metadata: { name: 'a' }, spec: { containers: [{ name: 'c', resources: { requests: { cpu: 'much' } } }] } }), {
    message: /^pod\.spec\.containers\[0\]\.resources\.requests\["cpu"\]: "much": quantities must match/,
  });
  t.throws(() => call.formatCpuSet!([3, 1]), { message: 'cpus[1]: a set of CPUs is ascending and without duplicates; make one with cpuSetOf' });
  t.throws(() => call.parseQuantity!(5), { message: 'input: expected a string, got 5' });
});
