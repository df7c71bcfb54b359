// Checks whether an earlier product is still current: a digest of the inputs' paths, sizes and times, kept beside the product.
// Invariant: an input that was added, removed or written since gives another digest, even if clocks differ.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const skippedDirectories = new Set(['node_modules', 'dist', 'build', 'coverage', '.git', '.tap']);

/** Every file below `directory` whose name `keep` accepts, as sorted paths that begin with `directory`. */
export function filesBelow(directory, keep) {
  const found = [];
  for (const entry of entriesOf(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (!skippedDirectories.has(entry.name)) found.push(...filesBelow(path, keep));
    } else if (keep(entry.name)) found.push(path);
  }
  return found.sort();
}

function entriesOf(directory) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Digest of the given files' current state; a missing file counts as such. */
export function fingerprintOf(files) {
  const hash = createHash('sha256');
  for (const file of files) {
    const stat = statSync(file, { throwIfNoEntry: false });
    hash.update(stat === undefined ? `${file} absent\n` : `${file} ${stat.size} ${stat.mtimeMs}\n`);
  }
  return hash.digest('hex');
}

export function isUpToDate(marker, fingerprint) {
  try {
    return readFileSync(marker, 'utf8') === fingerprint;
  } catch {
    return false;
  }
}

export function markUpToDate(marker, fingerprint) {
  mkdirSync(dirname(marker), { recursive: true });
  writeFileSync(marker, fingerprint);
}
