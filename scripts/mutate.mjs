// `npm run mutate [-- FILE...]`: mutation testing of src/domain, a sample of each folder or the named files. Each line of a file is altered
// by Stryker's mutators, and a test near the file must fail. Prints the score of each folder and the surviving mutants.
// A file's tests are the tests and the vector areas that reach it by the fewest imports: more distant ones detect little and take long.
// Of those equally near, the ones that reach the least else come first, since they are the most specific.
// Invariant: works on a copy of the compiled files, one mutant at a time; fails if a folder stays under the minimum, or nothing was mutated.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrapDevelopment, orExit } from './bootstrap.mjs';
import { filesBelow } from './fingerprint.mjs';
import { mutationSample } from './mutation-sample.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const floorPercent = 85;
const mostTests = 5;
const mostSimulations = 2;
/** They reach everything, and say less of any one file than its own tests. */
const longTests = ['domain/parsers.test.js', 'domain/package-entry.test.js'];
const killed = new Set(['Killed', 'Timeout']);
const counted = new Set([...killed, 'Survived', 'NoCoverage']);

await orExit('mutate', bootstrapDevelopment);
const { Stryker } = await import('@stryker-mutator/core');
const words = process.argv.slice(2);
const files = words.length === 0 ? mutationSample : words.map((word) => relative(join(root, 'src', 'domain'), resolve(root, word)));
const importers = importersOf(filesBelow(dist, (name) => name.endsWith('.js')));
const importsOf = inverted(importers);
const areaTests = writeAreaTests();
const scores = new Map();
for (const file of files) await mutate(file);
process.exitCode = summarise() ? 0 : 1;

async function mutate(file) {
  const target = join(dist, 'src', 'domain', file.replace(/ts$/, 'js'));
  const tests = nearestTests(target);
  if (tests.length === 0) {
    console.log(`${file}: no test reaches it`);
    count(file, []);
    return;
  }
  process.env.KUBELET_TS_MUTATION = JSON.stringify(planOf(tests));
  const stryker = new Stryker({
    mutate: [relative(root, target)],
    testRunner: 'domain',
    plugins: [fileURLToPath(new URL('./mutation-runner.mjs', import.meta.url))],
    coverageAnalysis: 'off',
    concurrency: 1,
    ignorePatterns: ['**', '!dist/src/**/*.js', '!dist/test/**/*.js', '!package.json', '!test/vectors/**/*', '!examples/**/*'],
    tempDirName: 'tmp/mutation',
    disableTypeChecks: false,
    reporters: [],
    allowConsoleColors: false,
    logLevel: 'error',
    timeoutMS: 60_000,
  });
  const mutants = (await stryker.runMutationTest()).filter(({ status }) => counted.has(status));
  count(file, mutants);
  const missed = mutants.filter(({ status }) => !killed.has(status));
  const late = mutants.filter(({ status }) => status === 'Timeout').length;
  const byTime = late === 0 ? '' : `, ${late} of them by taking too long`;
  const names = tests.map((test) => relative(join(dist, 'test'), test));
  console.log(`${file}: ${mutants.length - missed.length} of ${mutants.length}${byTime} (${names.join(' ')})`);
  const lines = readFileSync(target, 'utf8').split('\n');
  for (const { location, replacement, status } of missed) {
    const { line, column } = location.start;
    console.log(`  ${status} ${line}:${column} ${(lines[line - 1] ?? '').trim().slice(0, 110)}  =>  ${String(replacement).replace(/\s+/g, ' ').slice(0, 60)}`);
  }
}

function planOf(tests) {
  const areaTests = tests.filter((path) => areaOf(path) !== null);
  const inSandbox = (path) => relative(root, path);
  return { areas: areaTests.map(areaOf), areaTests: areaTests.map(inSandbox), tests: tests.filter((path) => areaOf(path) === null).map(inSandbox) };
}

/** null: a test of tap. */
function areaOf(path) {
  return /\/dist\/test\/mutation\/(.+)\.js$/.exec(path)?.[1] ?? null;
}

function count(file, mutants) {
  const folder = dirname(file);
  const score = scores.get(folder) ?? { killed: 0, total: 0, files: 0 };
  score.files++;
  score.total += mutants.length;
  score.killed += mutants.filter(({ status }) => killed.has(status)).length;
  scores.set(folder, score);
}

function summarise() {
  let good = scores.size > 0;
  for (const [folder, score] of scores) {
    const percent = score.total === 0 ? 0 : (100 * score.killed) / score.total;
    if (percent < floorPercent) good = false;
    console.log(JSON.stringify({ folder, ...score, percent: Number(percent.toFixed(1)) }));
  }
  return good;
}

/** By file: who imports it. */
function importersOf(paths) {
  const found = new Map();
  for (const path of paths) {
    for (const [, specifier] of readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)'/g)) {
      const target = resolve(dirname(path), specifier);
      if (found.has(target)) found.get(target).push(path);
      else found.set(target, [path]);
    }
  }
  return found;
}

/** By file: whom it imports. */
function inverted(found) {
  const imports = new Map();
  for (const [target, paths] of found) for (const path of paths) imports.set(path, [...(imports.get(path) ?? []), target]);
  return imports;
}

/** Tests of the domain and drivers of vector areas, nearest first. */
function nearestTests(target) {
  const seen = new Set([target]);
  const tests = [];
  const simulations = [];
  for (let level = [target]; level.length > 0 && tests.length < mostTests; ) {
    level = level.flatMap((path) => importers.get(path) ?? []).filter((path) => !seen.has(path) && seen.add(path));
    tests.push(
      ...level
        .flatMap((path) => testOf(path).map((test) => ({ test, reach: reachOf(path) })))
        .sort((a, b) => a.reach - b.reach || (a.test < b.test ? -1 : 1))
        .map(({ test }) => test),
    );
    simulations.push(...level.filter((path) => /^sim\/[^/]+\.test\.js$/.test(relative(join(dist, 'test'), path))).sort());
  }
  // Long tests are only needed for what nothing smaller tests.
  if (tests.length === 0) simulations.push(...longTests.map((name) => join(dist, 'test', name)).filter((path) => seen.has(path)));
  return tests.length > 0 ? tests.slice(0, mostTests) : simulations.slice(0, mostSimulations);
}

/** The number of files in the transitive imports. */
function reachOf(path) {
  const seen = new Set([path]);
  for (let level = [path]; level.length > 0; ) level = level.flatMap((one) => importsOf.get(one) ?? []).filter((one) => !seen.has(one) && seen.add(one));
  return seen.size;
}

function testOf(path) {
  const name = relative(join(dist, 'test'), path);
  if (name.startsWith('domain/') && name.endsWith('.test.js') && !longTests.includes(name)) return [path];
  const area = /^vectors\/drivers\/(.+)\.js$/.exec(name)?.[1];
  return area === undefined || !areaTests.has(area) ? [] : [areaTests.get(area)];
}

/** For mutants that act while modules load: each vector area as a program, without tap, which takes longer to load than the cases to run. */
function writeAreaTests() {
  const directory = join(dist, 'test', 'mutation');
  mkdirSync(directory, { recursive: true });
  const vectors = join(root, 'test', 'vectors');
  const tests = new Map();
  for (const name of readdirSync(join(vectors, 'dev'))) {
    const area = name.replace(/\.jsonl$/, '');
    const path = join(directory, `${area}.js`);
    writeFileSync(path, areaTest(area));
    tests.set(area, path);
  }
  return tests;
}

function areaTest(area) {
  return `import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runArea } from '../vectors/runner.js';
const directory = fileURLToPath(new URL('../../../test/vectors/dev/', import.meta.url));
const exclusions = JSON.parse(readFileSync(new URL('../../../test/vectors/exclusions.json', import.meta.url), 'utf8'));
const result = await runArea('${area}', { directory, areas: ['${area}'], selfCheck: false, exclusions });
process.exitCode = result.total > 0 && result.failures.length === 0 ? 0 : 1;
`;
}
