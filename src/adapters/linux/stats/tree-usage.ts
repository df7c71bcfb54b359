// Disk usage of files: a directory's own files, or a whole tree as du(1) counts it.
//
// Invariants: one file system only, a file with several names counts once, symbolic links are not followed, vanishing files are
// skipped; a walk stops at its limit and reports it.
import { lstat, readdir } from 'node:fs/promises';

export interface TreeUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** The bound was reached: the numbers are too low. */
  readonly isPartial: boolean;
}

const blockBytes = 512;
export const treeEntriesMax = 1_000_000;
/** lstat(2) calls side by side: libuv's pool has four threads, which others need as well. */
const sideBySide = 16;

/** null: no such directory. */
export async function treeUsage(top: string, entriesMax = treeEntriesMax): Promise<TreeUsage | null> {
  const first = await lstat(top).catch(() => null);
  if (first === null) return null;
  const seen = new Set<number>([first.ino]);
  let usedBytes = first.blocks * blockBytes;
  let entries = 1;
  const waiting = first.isDirectory() ? [top] : [];
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    const names = await readdir(directory).catch(() => []);
    for (let from = 0; from < names.length; from += sideBySide) {
      if (entries >= entriesMax) return { usedBytes, inodesUsed: seen.size, isPartial: true };
      const slice = names.slice(from, from + sideBySide);
      const found = await Promise.all(slice.map((name) => lstat(`${directory}/${name}`).catch(() => null)));
      found.forEach((stat, i) => {
        entries++;
        if (stat === null || stat.dev !== first.dev || seen.has(stat.ino)) return;
        seen.add(stat.ino);
        usedBytes += stat.blocks * blockBytes;
        if (stat.isDirectory()) waiting.push(`${directory}/${slice[i]}`);
      });
    }
  }
  return { usedBytes, inodesUsed: seen.size, isPartial: false };
}

const directFilesMax = 10_000;

/** Of the files directly in a directory, by length as rotation counts it; null if the directory is absent. */
export async function directFilesUsage(directory: string): Promise<TreeUsage | null> {
  const names = await readdir(directory).catch(() => null);
  if (names === null) return null;
  let usedBytes = 0;
  let inodesUsed = 0;
  const looked = names.slice(0, directFilesMax);
  for (let from = 0; from < looked.length; from += sideBySide) {
    const found = await Promise.all(looked.slice(from, from + sideBySide).map((name) => lstat(`${directory}/${name}`).catch(() => null)));
    for (const stat of found) {
      if (stat === null || stat.isDirectory()) continue;
      usedBytes += stat.blocks * blockBytes;
      inodesUsed++;
    }
  }
  return { usedBytes, inodesUsed, isPartial: looked.length < names.length };
}
