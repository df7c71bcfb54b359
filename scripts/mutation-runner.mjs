// Runs the tests of one file of src/domain for Stryker: all in this process, since a thousand cases and a dozen tables take less time than
// starting another: first the vector areas, then, for mutants that survive them, the test files that visit the mutant, on a replacement of tap.
// Stryker's own runner for tap starts a process for each test and mutant, which takes a night instead of minutes.
// Invariant: a mutant that acts while modules load has a permanent effect on its process, so it is only ever tried in new ones; and
// if the unmutated code fails after a mutant (some state keeps its effect), everything after it is tried in new ones.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { allPropertyRuns, problemOfFile, standForTap } from './mutation-tap.mjs';

const child = fileURLToPath(new URL('./mutation-child.mjs', import.meta.url));
const leastTimeoutMs = 20_000;
const timeoutFactor = 10;
const areasTest = 'areas';
/** A loop that a mutant made endless ends after so many times the visits of the unharmed code. */
const visitsFactor = 10;
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
    standForTap();
    const vectors = join(process.cwd(), 'test', 'vectors');
    const load = (path) => import(pathToFileURL(join(process.cwd(), 'dist', 'test', 'vectors', path)).href);
    this.failureOfLine = (await load('runner.js')).failureOfLine;
    const excluded = JSON.parse(readFileSync(join(vectors, 'exclusions.json'), 'utf8'));
    this.cases = [];
    for (const area of plan.areas) {
      const { driver } = await load(`drivers/${area}.js`);
      const lines = readFileSync(join(vectors, 'dev', `${area}.jsonl`), 'utf8').split('\n');
      for (const line of lines.filter((text) => text.trim() !== '')) {
        const { id } = JSON.parse(line);
        if (excluded[id] === undefined) this.cases.push({ driver, line, id });
      }
    }
    const start = performance.now();
    const first = await this.visitsOfUnharmed().catch(() => {
      allPropertyRuns();
      return this.visitsOfUnharmed();
    });
    this.visits = await this.visitsOfUnharmed();
    this.childTimeoutMs = leastTimeoutMs + timeoutFactor * (performance.now() - start);
    this.onlyOnce = new Set(Object.keys(globalThis.__stryker__.mutantCoverage?.static ?? {}));
    // What is done the first time and then remembered shows in a new process alone.
    for (const [test, visits] of first) for (const id of Object.keys(visits)) if (this.visits.get(test)[id] === undefined) this.onlyOnce.add(id);
    this.spoiled = false;
  }

  /** By test, quick ones first: how often each mutant's place was passed. */
  async visitsOfUnharmed() {
    const tests = [areasTest, ...plan.tests];
    const switches = globalThis.__stryker__;
    switches.mutantCoverage ??= { static: {}, perTest: {} };
    const coverage = switches.mutantCoverage;
    coverage.perTest = {};
    const took = new Map();
    for (const test of tests) {
      const start = performance.now();
      const problem = await this.problemOf(test);
      if (problem !== null) throw new Error(`before any change ${problem}`);
      took.set(test, performance.now() - start);
    }
    return new Map(tests.sort((a, b) => took.get(a) - took.get(b)).map((test) => [test, { ...coverage.perTest[test] }]));
  }

  async dryRun() {
    return { status: 'complete', tests: [success(areasTest, 1), ...plan.tests.map((test) => success(test, 1))] };
  }

  async mutantRun({ activeMutant: { id } }) {
    const inNewProcess = this.spoiled || this.onlyOnce.has(id);
    const problem = inNewProcess ? await this.failedInNewProcess(id) : await this.failedHere(id);
    return problem === null ? { status: 'survived', nrOfTests: 1 } : { status: 'killed', killedBy: [areasTest], nrOfTests: 1, failureMessage: problem };
  }

  async failedHere(id) {
    for (const [test, visits] of this.visits) {
      if (visits[id] === undefined) continue;
      const problem = await this.problemWith(id, test, visits[id]);
      if (problem === null) continue;
      if ((await this.problemOf(test, problem)) === null) return problem;
      this.spoiled = true;
      return this.failedInNewProcess(id);
    }
    return null;
  }

  async problemWith(id, test, visits) {
    const switches = globalThis.__stryker__;
    Object.assign(switches, { activeMutant: id, hitCount: 0, hitLimit: Math.max(leastVisits, visits * visitsFactor) });
    try {
      return await this.problemOf(test);
    } finally {
      Object.assign(switches, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined });
    }
  }

  /** What runs here is counted apart from what ran while modules were loaded. `only`: the problem of a case, which alone is tried again. */
  async problemOf(test, only = null) {
    globalThis.__stryker__.currentTestId = test;
    try {
      return test === areasTest ? await this.failedCase(only) : await problemOfFile(join(process.cwd(), test));
    } finally {
      globalThis.__stryker__.currentTestId = undefined;
    }
  }

  /** Up to the first case that fails. */
  async failedCase(only) {
    for (const { driver, line, id } of this.cases) {
      const problem = `${id} fails`;
      if ((only === null || only === problem) && (await this.failureOfLine(driver, line, false)) !== null) return problem;
    }
    return null;
  }

  /** null: it ended well. */
  failedInNewProcess(id) {
    return new Promise((resolve) => {
      const paths = [...plan.areaTests, ...plan.tests].map((path) => join(process.cwd(), path));
      const run = spawn(process.execPath, [child, ...paths], { env: { ...process.env, __STRYKER_ACTIVE_MUTANT__: id }, stdio: 'ignore' });
      const timer = setTimeout(() => run.kill('SIGKILL'), this.childTimeoutMs);
      run.on('close', (code) => {
        clearTimeout(timer);
        resolve(code === 0 ? null : `the process ended with ${code ?? 'a signal'}`);
      });
    });
  }
}

function success(id, timeSpentMs) {
  return { id, name: id, status: 0, timeSpentMs };
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'domain', injectableClass: DomainTestRunner }];
