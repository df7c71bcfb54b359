// `npm test [-- WORD...]`: the tests whose path holds one of the words, or all; with `--tier nightly` or `--tier soak` the long ones.
// Without CI in the environment the tier is `short`: no `*.long.test.ts`, unless a word chooses it, and of each long sweep a share (test/support/sweep.ts).
// Files named `*.alone.test.ts` run after the others, one at a time: they change something that the whole machine shares.
// Where CI is set, a few failed files run a second time, alone: on a machine that others load too, one late timer of thousands must not decide.
// Which they were is printed last, so that each is looked into.
// Invariant: the list comes from the sources, and a file that did not run, or ran no test, or a warning of Node in any process, fails the run.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrapDevelopment, orExit } from './bootstrap.mjs';
import { ensureBundled } from './bundle.mjs';
import { filesBelow } from './fingerprint.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Files wait about half their time, for processes and containers. */
const concurrency = Math.min(8, 2 * availableParallelism());
const fileTimeoutMs = { short: 10 * 60_000, ci: 10 * 60_000, nightly: 2 * 60 * 60_000, soak: 24 * 60 * 60_000 };
/** For a `t.test` that names no time of its own: tap's 30 are few where others load the machine. */
const patienceSeconds = '180';
const suffixes = { short: ['.test.ts'], ci: ['.test.ts'], nightly: ['.test.ts', '.nightly.ts'], soak: ['.soak.ts'] };
const secondChancesMax = process.env.CI ? 3 : 0;
const noTotals = { counts: {}, files: [], failed: [], empty: [], warnings: [] };
/** Of every process that inherits the environment, those that tests start included. */
const catchWarnings = `--import=${new URL('./catch-warnings.mjs', import.meta.url)}`;
const countNames = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo'];

const { tier, words } = parse(process.argv.slice(2));
await orExit('test', bootstrapDevelopment);
await orExit('test', ensureBundled);
const { files, long } = listFiles();
const alone = files.filter((file) => file.includes('.alone.'));
const together = files.filter((file) => !file.includes('.alone.'));
const start = performance.now();
const runs = [run(together, concurrency), ...alone.map((file) => run([file], 1))];
const failed = runs.flatMap((one) => one.totals.failed);
const again = failed.length <= secondChancesMax ? failed.map((file) => run([file], 1)) : [];
process.exitCode = summarise() ? 0 : 1;

function parse(args) {
  const at = args.indexOf('--tier');
  const chosen = at < 0 ? (process.env.CI ? 'ci' : 'short') : args[at + 1];
  if (suffixes[chosen] === undefined) {
    console.error(`test: --tier takes ${Object.keys(suffixes).join(', ')}`);
    process.exit(2);
  }
  return { tier: chosen, words: args.filter((_, i) => at < 0 || (i !== at && i !== at + 1)) };
}

/** Compiled files, by the sources that exist now: a compiled file whose source is gone does not count. `long`: how many this tier leaves out. */
function listFiles() {
  const test = join(root, 'test');
  const sources = filesBelow(test, (name) => suffixes[tier].some((suffix) => name.endsWith(suffix)));
  const chosen = sources.filter((file) => words.length === 0 || words.some((word) => relative(root, file).includes(word)));
  const kept = chosen.filter((file) => tier !== 'short' || words.length > 0 || !file.endsWith('.long.test.ts'));
  const compiled = kept.map((file) => join(root, 'dist', 'test', relative(test, file).replace(/ts$/, 'js')));
  return { files: compiled, long: chosen.length - kept.length };
}

function run(list, width) {
  if (list.length === 0) return { status: 0, totals: noTotals };
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  const totals = join(directory, 'totals.json');
  const warnings = join(directory, 'warnings.ndjson');
  // Some tests start programs as other users.
  writeFileSync(warnings, '');
  chmodSync(warnings, 0o666);
  chmodSync(directory, 0o755);
  const options = [`--test-concurrency=${width}`, `--test-timeout=${fileTimeoutMs[tier]}`, `--test-reporter=${new URL('./test-reporter.mjs', import.meta.url)}`];
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...options, ...list], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      TAP_TIMEOUT: patienceSeconds,
      ...process.env,
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${catchWarnings}`.trim(),
      KUBELET_TS_TEST_TOTALS: totals,
      KUBELET_TS_TEST_WARNINGS: warnings,
      KUBELET_TS_TIER: tier,
    },
  });
  const result = { status, totals: { ...(existsSync(totals) ? JSON.parse(readFileSync(totals, 'utf8')) : noTotals), warnings: warningsIn(warnings) } };
  rmSync(directory, { recursive: true });
  return result;
}

/** One text each. */
function warningsIn(file) {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line)).map(({ program, warning }) => `warning of Node in ${relative(root, program)}: ${warning}`);
}

/** Prints what went wrong, then the figures in the form of Node's own runner. True when all is well. */
function summarise() {
  const ran = new Set(runs.flatMap((one) => one.totals.files));
  const problems = files.filter((file) => !ran.has(file)).map((file) => `did not run: ${relative(root, file)}`);
  problems.push(...runs.flatMap((one) => one.totals.empty).map((file) => `ran no test: ${relative(root, file)}; skip with t.test(name, { skip: reason }), so that it shows`));
  problems.push(...new Set(runs.flatMap((one) => one.totals.warnings)));
  if (files.length === 0) problems.push(`no test file matches: ${words.join(' ') || suffixes[tier].join(', ')}`);
  for (const problem of problems) console.log(`FAILED ${problem}`);
  const crashed = runs.filter((one) => one.status !== 0 && one.totals.failed.length === 0).length;
  const isMended = again.length > 0 && crashed === 0 && again.every((one) => one.status === 0);
  const decisive = isMended ? again : runs;
  for (const name of countNames) {
    const sum = (name === 'fail' || name === 'cancelled' ? decisive : runs).reduce((total, one) => total + (one.totals.counts[name] ?? 0), 0);
    console.log(`# ${name} ${name === 'fail' ? sum + problems.length : sum}`);
  }
  console.log(`# duration_ms ${Math.round(performance.now() - start)}`);
  console.log(`# files ${ran.size} of ${files.length}`);
  if (long > 0) console.log(`# left out: ${long} long files; CI=1 npm test runs them too, and npm test -- WORD those that a word chooses`);
  if (isMended) for (const file of failed) console.log(`# unsteady: ${relative(root, file)} failed once and passed alone`);
  return problems.length === 0 && decisive.every((one) => one.status === 0);
}
