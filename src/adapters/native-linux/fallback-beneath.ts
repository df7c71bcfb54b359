// OpenBeneath without the addon: one element at a time, each opened by name below the descriptor of the one before (/proc/self/fd/N/name).
// Invariant: a name with a slash or ".." never reaches the kernel; ".." leaves the last directory entered, so no rename can lead it out of the root.
import { closeSync, constants, fstatSync, openSync, readlinkSync } from 'node:fs';
import type { PortError } from '../../ports/port-error.js';
import { beneathFile, type OpenBeneath, openPathFlag, openRoot } from './beneath.js';
import { errno, portErrorFrom, portErrorOf } from './errno.js';

/** The kernel's own limit. */
const symlinksMax = 40;

export const fallbackOpenBeneath: OpenBeneath = (root, path, options) => {
  if (path.includes('\0')) throw new TypeError('OpenBeneath: path must be a string without zero bytes');
  const entered = [openRoot(root)];
  const fail = (number: number): PortError => portErrorOf(-number, 'OpenBeneath', `${root} ${path}`);
  try {
    if (path === '') throw fail(errno.ENOENT);
    if (path.startsWith('/')) throw fail(errno.EXDEV);
    const elements = elementsOf(path);
    const flags = options.flags | (path.endsWith('/') ? constants.O_DIRECTORY : 0);
    let symlinks = 0;
    while (true) {
      const name = elements.shift() ?? '.';
      const directory = entered.at(-1)!;
      if (name === '..') {
        if (entered.length === 1) throw fail(errno.EXDEV);
        closeSync(entered.pop()!);
        continue;
      }
      const last = elements.length === 0;
      const target = linkTarget(directory, name);
      if (target === null && last) {
        const fd = openSync(`/proc/self/fd/${directory}/${name}`, flags | constants.O_NOFOLLOW, options.mode);
        return beneathFile(fd, () => closeSync(fd));
      }
      if (target === null) {
        entered.push(openSync(`/proc/self/fd/${directory}/${name}`, openPathFlag | constants.O_NOFOLLOW | constants.O_DIRECTORY));
        continue;
      }
      if (!options.followSymlinks || (last && (flags & constants.O_NOFOLLOW) !== 0) || ++symlinks > symlinksMax) throw fail(errno.ELOOP);
      if (target.startsWith('/')) throw fail(errno.EXDEV);
      elements.unshift(...elementsOf(target));
    }
  } catch (error) {
    throw portErrorFrom(error, 'OpenBeneath', `${root} ${path}`);
  } finally {
    for (const fd of entered) closeSync(fd);
  }
};

function elementsOf(path: string): string[] {
  return path.split('/').filter((element) => element !== '');
}

/** null when the entry isn't a symbolic link, or is absent. */
function linkTarget(directory: number, name: string): string | null {
  let fd: number;
  try {
    fd = openSync(`/proc/self/fd/${directory}/${name}`, openPathFlag | constants.O_NOFOLLOW);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  try {
    // The link's text is read by name: reading it through /proc/self/fd/N would give that entry's own text.
    return fstatSync(fd).isSymbolicLink() ? readlinkSync(`/proc/self/fd/${directory}/${name}`) : null;
  } finally {
    closeSync(fd);
  }
}
