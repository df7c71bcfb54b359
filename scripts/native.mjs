// Builds the C++ addon where it can be built, without asking the network. Without it the program runs on its pure-Node fallbacks and says what that costs.
// Invariant: a failure stops the caller only when REQUIRE_NATIVE=1.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesBelow, fingerprintOf, isUpToDate, markUpToDate } from './fingerprint.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const release = join(root, 'build', 'Release');

/** Builds the addon unless it is the product of the sources as they stand. */
export function ensureNative() {
  if (!existsSync(join(root, 'binding.gyp'))) return;
  const fingerprint = `${fingerprintOf([...filesBelow(join(root, 'native'), () => true), join(root, 'binding.gyp')])} ${process.arch}`;
  const marker = join(release, '.fingerprint');
  if (isUpToDate(marker, fingerprint) && readdirSync(release).some((name) => name.endsWith('.node'))) return;
  const problem = build();
  if (problem === null) return markUpToDate(marker, fingerprint);
  if (process.env.REQUIRE_NATIVE === '1') throw new Error(`the native addon was not built: ${problem}`);
  console.error(`native: not built: ${problem}. Going on with the pure-Node fallback (slower, and files are polled where the kernel's events would be used)`);
}

/** Null when it worked, else what was wrong. */
function build() {
  const gyp = nodeGyp();
  if (gyp === null) return 'node-gyp was not found; `npm ci` installs it';
  const prefix = dirname(dirname(process.execPath));
  const nodedir = process.env.npm_config_nodedir ?? (existsSync(join(prefix, 'include', 'node', 'node_api.h')) ? prefix : null);
  if (nodedir === null) return `no headers of Node in ${prefix}/include/node; they are part of Node's own archive`;
  for (const tool of ['g++', 'make', 'python3'])
    if (spawnSync(tool, ['--version'], { stdio: 'ignore' }).status !== 0) return `${tool} is not installed (Debian: apt-get install g++ make python3)`;
  console.error('native: building the addon with node-gyp');
  const { status, stdout, stderr } = spawnSync(process.execPath, [gyp, 'rebuild', `--nodedir=${nodedir}`], { cwd: root, encoding: 'utf8' });
  if (status === 0) return null;
  console.error(`${stdout}${stderr}`.split('\n').slice(-40).join('\n'));
  return 'node-gyp failed, its last words are above';
}

/** Our own, or the one that npm brings and names to the scripts it runs. */
function nodeGyp() {
  try {
    return createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js');
  } catch {
    return process.env.npm_config_node_gyp ?? null;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    ensureNative();
  } catch (error) {
    console.error(`native: ${error.message}`);
    process.exitCode = 1;
  }
}
