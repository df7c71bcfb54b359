// Removes a container's files in a volume, of any number and depth.
// Invariants: nothing on another mount is removed and no link is followed; the loop is yielded to regularly; a bounded number of
// descriptors is open, since entries that are too deep are first moved up.
import { renameSync } from 'node:fs';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import type { DirectoryHandle } from './directory-handle.js';
import { errnoName, FileRefusal } from './file-errors.js';

const levelsMax = 64;
const entriesATurn = 256;
const movedPrefix = '.removing-';

interface Removal {
  readonly root: DirectoryHandle;
  removed: number;
  moved: number;
}

/** The directory and all that is in it. Absent: succeeds. */
export async function removeVolumeTree(parent: DirectoryHandle, name: string): Promise<void> {
  const root = parent.enterIfPresent(name);
  if (root === null) return;
  try {
    if (root.mountId() !== parent.mountId()) throw new FileRefusal('failed-precondition', `cannot delete ${root.where()}: it is a mount point`);
    const removal: Removal = { root, removed: 0, moved: 0 };
    // The next round removes moved entries.
    for (let moved = -1; moved !== removal.moved; ) {
      moved = removal.moved;
      await empty(root, removal, levelsMax);
    }
  } finally {
    root.close();
  }
  removing(parent, name, () => parent.removeDirectory(name));
}

async function empty(directory: DirectoryHandle, removal: Removal, levels: number): Promise<void> {
  for (const entry of directory.entries()) {
    if (++removal.removed % entriesATurn === 0) await turnOfLoop();
    if (!entry.isDirectory()) removing(directory, entry.name, () => directory.unlink(entry.name));
    else if (levels > 0) await removeDirectory(directory, entry.name, removal, levels);
    else moveUp(directory, entry.name, removal);
  }
}

async function removeDirectory(parent: DirectoryHandle, name: string, removal: Removal, levels: number): Promise<void> {
  const directory = parent.enterIfPresent(name);
  if (directory === null) return;
  try {
    if (directory.mountId() !== parent.mountId()) throw new FileRefusal('failed-precondition', `cannot delete ${directory.where()}: it is a mount point`);
    await empty(directory, removal, levels - 1);
  } finally {
    directory.close();
  }
  removing(parent, name, () => parent.removeDirectory(name));
}

/** To the volume's root, under a name that nothing there has. */
function moveUp(directory: DirectoryHandle, name: string, removal: Removal): void {
  let free = `${movedPrefix}${removal.moved++}`;
  while (removal.root.look(free) !== null) free = `${movedPrefix}${removal.moved++}`;
  renameSync(directory.at(name), removal.root.at(free));
}

function removing(parent: DirectoryHandle, name: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    const reason = { EBUSY: 'it is a mount point', ENOTEMPTY: 'it is not empty' }[errnoName(error)];
    throw reason === undefined ? error : new FileRefusal('failed-precondition', `cannot delete ${parent.where()}/${name}: ${reason}`);
  }
}
