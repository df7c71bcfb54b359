// How Stryker runs the tests of one file of src/domain: first the vector areas, all in this process, since a thousand cases take less time
// than to start another; then, for what they don't notice, the tap tests, each in a process of its own.
// Why not Stryker's runner for tap: it starts a process for each test and mutant, which makes a night of what takes minutes here.
// Invariant: a mutant that acts while modules load has acted in this process once and for all, so it is only ever tried in new ones.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const testTimeoutMs = 120_000;
const areasTest = 'areas';
/** A loop that a mutant made endless ends after so many times the visits of the unharmed code. */
const visitsFactor = 50;
const leastVisits = 10_000;

/** Which areas and tests: `mutate.mjs` says so in the environment, which Stryker's workers inherit. */
const plan = JSON.parse(process.env.KUBELET_TS_MUTATION ?? '{"areas":[],"tests":[],"areaTests":[]}');

class DomainTestRunner {
  static inject = [];

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    globalThis.__stryker__ ??= {};
    const vectors = join(process.cwd(), 'test', 'vectors');
    const load = (path) => import(pathToFileURL(join(process.cwd(), 'dist', 'test', 'vectors', path)).href);
    this.differences = (await load('compare.js')).differences;
    const excluded = JSON.parse(readFileSync(join(vectors, 'exclusions.json'), 'utf8'));
    this.cases = [];
    for (const area of plan.areas) {
      const { driver } = await load(`drivers/${area}.js`);
      const lines = readFileSync(join(vectors, 'dev', `${area}.jsonl`), 'utf8').split('\n');
      for (const line of lines) if (line.trim() !== '' && excluded[JSON.parse(line).id] === undefined) this.cases.push({ driver, line });
    }
    const problem = await this.failedArea(areasTest);
    if (problem !== null) throw new Error(`before any change ${problem}`);
    const coverage = globalThis.__stryker__.mutantCoverage ?? { static: {}, perTest: {} };
    this.loading = { ...coverage.static };
    this.running = { ...coverage.perTest[areasTest] };
  }

  async dryRun() {
    const tests = [success(areasTest, 1)];
    for (const test of plan.tests) {
      const start = performance.now();
      const problem = await failedTest(test, {});
      if (problem !== null) return { status: 'error', errorMessage: `before any change ${problem}` };
      tests.push(success(test, performance.now() - start));
    }
    return { status: 'complete', tests };
  }

  async mutantRun({ activeMutant: { id } }) {
    const inProcess = this.running[id] !== undefined && this.loading[id] === undefined;
    const problem = (inProcess ? await this.failedAreaWith(id) : null) ?? (await failedInNewProcess(id, this.loading[id] !== undefined));
    return problem === null ? { status: 'survived', nrOfTests: 1 } : { status: 'killed', killedBy: [areasTest], nrOfTests: 1, failureMessage: problem };
  }

  async failedAreaWith(id) {
    const switches = globalThis.__stryker__;
    Object.assign(switches, { activeMutant: id, hitCount: 0, hitLimit: Math.max(leastVisits, this.running[id] * visitsFactor) });
    try {
      return await this.failedArea(areasTest);
    } finally {
      Object.assign(switches, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined });
    }
  }

  /** Up to the first case that fails. What runs here is counted apart from what ran while modules were loaded. */
  async failedArea(testId) {
    globalThis.__stryker__.currentTestId = testId;
    try {
      for (const { driver, line } of this.cases) {
        const { id, input, want } = JSON.parse(line);
        if (!(await this.isAsWanted(driver, input, want))) return `${id} fails`;
      }
      return null;
    } finally {
      globalThis.__stryker__.currentTestId = undefined;
    }
  }

  async isAsWanted(driver, input, want) {
    try {
      const got = await driver.run(input);
      const plain = got === undefined ? undefined : JSON.parse(JSON.stringify(got));
      return (driver.compare === undefined ? this.differences(plain, want) : driver.compare(plain, want)).length === 0;
    } catch {
      return false;
    }
  }
}

async function failedInNewProcess(id, withAreas) {
  for (const test of withAreas ? [...plan.areaTests, ...plan.tests] : plan.tests) {
    const problem = await failedTest(test, { __STRYKER_ACTIVE_MUTANT__: id });
    if (problem !== null) return problem;
  }
  return null;
}

/** null: it ended well. */
function failedTest(test, variables) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [test], { env: { ...process.env, TAP_BAIL: '1', ...variables }, stdio: 'ignore' });
    const timer = setTimeout(() => child.kill('SIGKILL'), testTimeoutMs);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve(code === 0 ? null : `${test} ended with ${code ?? 'a signal'}`);
    });
  });
}

function success(id, timeSpentMs) {
  return { id, name: id, status: 0, timeSpentMs };
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'domain', injectableClass: DomainTestRunner }];
