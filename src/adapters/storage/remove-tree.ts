// Removes directory trees on a host where other programs mount things into them.
// Invariant: nothing on another mount is ever removed, whether it was mounted before or during the removal, and no link is followed. A
// mount on a file or an empty directory is safe by itself: the kernel answers EBUSY.
import { readFileSync } from 'node:fs';
import { parseMountinfo } from '../native-linux/index.js';
import { type DirectoryHandle, using } from './directory-handle.js';
import { errnoName, FileRefusal } from './file-errors.js';

/** Trees of the kubelet's own have a handful of levels; each level holds a descriptor open. */
export const treeLevelsMax = 64;

export interface RemovalRule {
  /** Directories this deep are entered, those below must be empty. */
  readonly levels: number;
  /** Whether files are removed; otherwise a file stops the removal, since it may be user data. */
  readonly removesFiles: boolean;
}

export const removeEverything: RemovalRule = { levels: treeLevelsMax, removesFiles: true };

/** Removes one entry and everything below it that the rule allows. Succeeds if absent. */
export function removeTree(parent: DirectoryHandle, name: string, rule: RemovalRule): void {
  const entry = parent.look(name);
  if (entry === null) return;
  const isDirectory = entry.isDirectory();
  if (!isDirectory && !rule.removesFiles) throw new FileRefusal('failed-precondition', `${parent.where()}/${name} is not a directory: data is left`);
  try {
    if (isDirectory && rule.levels > 0) emptyDirectory(parent, name, rule);
    if (isDirectory) parent.removeDirectory(name);
    else parent.unlink(name);
  } catch (error) {
    const reason = { EBUSY: 'it is a mount point', ENOTEMPTY: 'it is not empty' }[errnoName(error)];
    throw reason === undefined ? error : new FileRefusal('failed-precondition', `cannot delete ${parent.where()}/${name}: ${reason}`);
  }
}

function emptyDirectory(parent: DirectoryHandle, name: string, rule: RemovalRule): void {
  // The directory may have been removed before it is entered.
  const directory = parent.enterIfPresent(name);
  if (directory === null) return;
  using(directory, () => {
    if (directory.mountId() !== parent.mountId()) throw new FileRefusal('failed-precondition', `cannot delete ${directory.where()}: it is a mount point`);
    const below = { ...rule, levels: rule.levels - 1 };
    for (const entry of directory.entries()) removeTree(directory, entry.name, below);
  });
}

/** A mount point at or below `path` (as the kernel names it), or null. One read, so that nothing is removed at all while something is mounted. */
export function mountAtOrBelow(path: string): string | null {
  const text = readFileSync('/proc/self/mountinfo', 'utf8');
  // Nearly always there is no such mount, which one text search shows. Blanks and backslashes are written in octal.
  if (!text.includes(` ${path.replace(/[\s\\].*$/s, '')}`)) return null;
  return parseMountinfo(text).find(({ mountPoint }) => mountPoint === path || mountPoint.startsWith(`${path}/`))?.mountPoint ?? null;
}
