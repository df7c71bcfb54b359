// Installs the locked packages if they are missing. A run needs the runtime ones, a test needs all.
// Invariant: relies on npm's own record of node_modules, so an `npm ci` by hand is recognized, too.
import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const attempts = 3;

/** Runs `npm ci` if a package that is needed is absent or has another version than the lock says. */
export function ensureInstalled(root, { dev }) {
  const missing = missingPackages(root, dev);
  if (missing.length === 0) return;
  const what = dev ? 'npm ci --ignore-scripts' : 'npm ci --ignore-scripts --omit=dev';
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new Error(`node_modules is a link and lacks ${missing.slice(0, 3).join(', ')}: run \`npm ci\` in the directory it points to`);
  }
  console.error(`bootstrap: installing packages (${missing.length} missing, e.g. ${missing[0]}): ${what}`);
  for (let attempt = 1; ; attempt++) {
    const { status, error } = spawnSync('npm', what.split(' ').slice(1), { cwd: root, stdio: ['ignore', 2, 2] });
    if (status === 0) return;
    if (error !== undefined) throw new Error(`npm could not be run (${error.message}): install it, or copy a node_modules made by \`${what}\` here`);
    if (attempt === attempts)
      throw new Error(`\`${what}\` failed ${attempts} times, its words are above. It needs the npm registry (or a filled npm cache: \`${what} --offline\`)`);
    console.error(`bootstrap: that failed, trying again (${attempt + 1} of ${attempts})`);
  }
}

function missingPackages(root, dev) {
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const installed = packagesOf(join(root, 'node_modules', '.package-lock.json'));
  const missing = [];
  for (const [path, entry] of Object.entries(wanted)) {
    // Optional packages depend on the platform; npm may leave them out.
    if (path === '' || entry.optional === true || entry.devOptional === true || (entry.dev === true && !dev)) continue;
    if (installed[path]?.version !== entry.version) missing.push(path.replace(/^node_modules\//, ''));
  }
  return missing;
}

function packagesOf(lock) {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')).packages ?? {};
  } catch (error) {
    if (error.code === 'ENOENT') return {};
    throw error;
  }
}
