// Refusals of a host's models: the same names and paths as in the real adapters, with the same kinds.
import { cleanPath } from '../../domain/values/slash-paths.js';
import { utf8Length } from '../../domain/values/utf8.js';
import type { PortErrorKind } from '../../ports/port-error.js';

/** NAME_MAX of the usual file systems. */
const nameBytesMax = 255;

/** Thrown inside a model, answered by the host; it never leaves `handle`. */
export class HostRefusal extends Error {
  constructor(
    readonly kind: PortErrorKind,
    message: string,
  ) {
    super(message);
    this.name = 'HostRefusal';
  }
}

export function checkName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0') || utf8Length(name) > nameBytesMax) {
    throw new HostRefusal('invalid-argument', `${JSON.stringify(name.slice(0, nameBytesMax))} is no file name`);
  }
  return name;
}

/** The elements of an absolute path below a root. */
export function elementsBelow(root: string, path: string): string[] {
  if (path.includes('\0') || !path.startsWith('/') || cleanPath(path) !== path) throw new HostRefusal('invalid-argument', `${JSON.stringify(path)} is no clean absolute path`);
  if (!path.startsWith(`${root}/`)) throw new HostRefusal('permission-denied', `${path} is not below ${root}`);
  return path
    .slice(root.length + 1)
    .split('/')
    .map(checkName);
}
