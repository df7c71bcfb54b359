// Brings a fresh clone to where it can run or test: Node's version, packages, addon, compiled sources, each only when needed.
// Invariant: nothing is done that is done already; what is done is said while doing it; a failure names the step and the way around it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './build.mjs';
import { ensureBundled } from './bundle.mjs';
import { ensureInstalled } from './install.mjs';
import { ensureNative } from './native.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What running the programs needs. Resolves to the directory of the bundle. */
export async function bootstrapRun() {
  checkNode();
  ensureInstalled(root, { dev: false });
  ensureNative();
  return await ensureBundled();
}

/** What the tests, the vectors and the benchmarks need: all packages, addon, compiled sources. */
export function bootstrapDevelopment() {
  checkNode();
  ensureInstalled(root, { dev: true });
  ensureNative();
  ensureBuilt();
}

function checkNode() {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const wanted = numbersOf(engines.node);
  const present = numbersOf(process.version);
  const isOlder = present[0] < wanted[0] || (present[0] === wanted[0] && present[1] < wanted[1]);
  if (isOlder) throw new Error(`Node ${engines.node} is needed, this is ${process.version} (${process.execPath}). Fallback: put a newer node first in PATH`);
}

function numbersOf(version) {
  return version.match(/\d+/g).map(Number);
}

/** Runs a step of a script; on failure prints its message alone, for it says what to do, and ends the process. */
export async function orExit(name, step) {
  try {
    return await step();
  } catch (error) {
    console.error(`${name}: ${error.message}`);
    process.exit(1);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await orExit('bootstrap', bootstrapDevelopment);
