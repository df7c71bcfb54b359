// Removes a demonstration's directory with the mounts of pods below it: at the end of the process, when no agent unmounts volumes any more.
// Invariant: nothing is removed while something is mounted below, since a mount may be user data.
import { spawnSync } from 'node:child_process';
import { readFileSync, realpathSync, rmSync } from 'node:fs';
import { parseMountinfo } from '../native-linux/index.js';

const unmountMillis = 2_000;

/** Returns why something remains; null: nothing does. */
export function removeWithMounts(directory: string): string | null {
  try {
    const path = realpathSync(directory);
    // A busy mount is detached: its users keep it, and its path is free.
    for (const words of [['-i'], ['-i', '-l']]) for (const mountPoint of mountsBelow(path)) unmount(words, mountPoint);
    const [left] = mountsBelow(path);
    if (left !== undefined) return `${left} is still mounted`;
    rmSync(directory, { recursive: true, force: true });
    return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    return error instanceof Error ? error.message : String(error);
  }
}

/** The last mount comes first. */
function mountsBelow(path: string): string[] {
  const entries = parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  return entries.flatMap(({ mountPoint }) => (mountPoint === path || mountPoint.startsWith(`${path}/`) ? [mountPoint] : [])).reverse();
}

function unmount(words: readonly string[], mountPoint: string): void {
  spawnSync('umount', [...words, mountPoint], { stdio: 'ignore', timeout: unmountMillis });
}
