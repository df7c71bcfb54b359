// Resolves paths below the logs root, element by element.
// Invariant: the result consists of single file names below the root, for any path.
import { cleanPath } from '../../domain/values/slash-paths.js';
import { checkName } from './directory-handle.js';
import { FileRefusal } from './file-errors.js';

/** The elements of a path below `root`. Refuses an unclean or relative path, and one outside. */
export function elementsBelow(root: string, path: string): string[] {
  if (path.includes('\0') || !path.startsWith('/') || cleanPath(path) !== path) throw new FileRefusal('invalid-argument', `${JSON.stringify(path)} is no clean absolute path`);
  const prefix = root === '/' ? '/' : `${cleanPath(root)}/`;
  if (!path.startsWith(prefix)) throw new FileRefusal('permission-denied', `${path} is not below ${root}`);
  return path.slice(prefix.length).split('/').map(checkName);
}
