// Builds the addon for this checkout (binding.gyp -> build/Release/kubelet_native.node); npm runs it as the `install` script.
// A failed build is no failure of the installation: the pure-Node fallback is used, and the missing requirements are printed.
// With REQUIRE_NATIVE=1 it is a failure.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const required = process.env.REQUIRE_NATIVE === '1';
const output = join(root, 'build/Release/kubelet_native.node');

function giveUp(reasons) {
  const lines = ['kubelet-ts: the native addon was not built:', ...reasons.map((reason) => `  - ${reason}`)];
  if (!required) lines.push('  The pure-Node fallback will be used (it polls; see native/README.md). REQUIRE_NATIVE=1 makes this an error.');
  console.error(lines.join('\n'));
  process.exit(required ? 1 : 0);
}

/** npm ships a node-gyp and names it in the environment of its scripts; the project's own exists only with development dependencies. */
function nodeGyp() {
  const candidates = [process.env.npm_config_node_gyp];
  const require = createRequire(import.meta.url);
  try {
    candidates.push(require.resolve('node-gyp/bin/node-gyp.js'));
  } catch {
    // not installed
  }
  for (const prefix of [join(dirname(process.execPath), '../lib'), join(dirname(process.execPath), '..')])
    candidates.push(join(prefix, 'node_modules/npm/node_modules/node-gyp/bin/node-gyp.js'));
  return candidates.find((path) => path !== undefined && path !== '' && existsSync(path)) ?? null;
}

function works(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** What a build needs and this machine lacks, in words a person can act on. */
function missingTools() {
  const missing = [];
  const compiler = process.env.CXX ?? 'c++';
  if (!works(compiler, ['--version']) && !works('g++', ['--version'])) missing.push('a C++20 compiler (Debian: apt-get install g++)');
  if (!works('make', ['--version'])) missing.push('make (Debian: apt-get install make)');
  if (!works('python3', ['--version'])) missing.push('python3 (Debian: apt-get install python3)');
  return missing;
}

if (process.platform !== 'linux') giveUp([`it is for Linux only, this is ${process.platform}`]);
const gyp = nodeGyp();
const missing = missingTools();
if (gyp === null) missing.push('node-gyp (it comes with npm; or npm install node-gyp)');
if (!existsSync(join(root, 'node_modules/node-addon-api')) && !existsSync(join(root, '../node-addon-api'))) missing.push('the package node-addon-api (npm ci)');
if (missing.length > 0) giveUp(missing);

const args = [gyp, 'rebuild', '--silent'];
// The headers beside this Node, when they are installed: then nothing is downloaded.
const prefix = dirname(dirname(process.execPath));
if (process.env.npm_config_nodedir === undefined && existsSync(join(prefix, 'include/node/node_api.h'))) args.push(`--nodedir=${prefix}`);
const built = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
if (built.status !== 0 || !existsSync(output)) {
  const tail = `${built.stdout}${built.stderr}`.trim().split('\n').slice(-25);
  giveUp([`node-gyp failed (${built.error?.message ?? `exit ${built.status}`}); its last lines:`, ...tail]);
}
console.log(`kubelet-ts: built ${output}`);
