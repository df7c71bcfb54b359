// Builds the C++ addon when its sources changed since the last build; how, and what happens when it can't be built, is install-native.mjs's matter.
// Invariant: an addon of older sources is never taken for a new one. A failed build stops the caller only when REQUIRE_NATIVE=1;
// otherwise it is not tried again before the sources change, so that it costs one start and not each.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesBelow, fingerprintOf, isUpToDate, markUpToDate } from './fingerprint.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const release = join(root, 'build', 'Release');
const marker = join(root, 'build', '.fingerprint');
const isRequired = process.env.REQUIRE_NATIVE === '1';

export function ensureNative() {
  if (!existsSync(join(root, 'binding.gyp'))) return;
  const sources = [...filesBelow(join(root, 'native'), () => true), join(root, 'binding.gyp')];
  const fingerprint = `${fingerprintOf(sources)} ${process.arch}`;
  // What `npm ci` has just built has no mark yet.
  if (!existsSync(marker) && addons().some((addon) => sources.every((source) => modifiedMs(source) < modifiedMs(addon)))) markUpToDate(marker, fingerprint);
  if (isUpToDate(marker, fingerprint) && (addons().length > 0 || !isRequired)) return;
  console.error('bootstrap: building the native addon');
  rmSync(release, { recursive: true, force: true });
  const { status } = spawnSync(process.execPath, [fileURLToPath(new URL('install-native.mjs', import.meta.url))], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { JOBS: 'max', ...process.env },
  });
  if (status !== 0) throw new Error('the native addon was not built, the reason is above; without REQUIRE_NATIVE=1 the pure-Node fallback would be used');
  markUpToDate(marker, fingerprint);
}

function addons() {
  const names = existsSync(release) ? readdirSync(release) : [];
  return names.filter((name) => name.endsWith('.node')).map((name) => join(release, name));
}

function modifiedMs(file) {
  return statSync(file).mtimeMs;
}
