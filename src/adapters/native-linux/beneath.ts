// Opens a path that a pod controls (a subPath, a file in a volume) without ever leaving a root directory.
// Invariant: the opened object is named by its descriptor (`/proc/self/fd/N`) from then on, so that it can't be exchanged afterwards.
import { closeSync, constants, openSync } from 'node:fs';
import type { NativeBinding } from './binding.d.ts';
import { checked, portErrorFrom } from './errno.js';

export interface BeneathOptions {
  /** open(2) flags, e.g. O_PATH | O_DIRECTORY; close-on-exec is added. */
  readonly flags: number;
  /** For O_CREAT. */
  readonly mode: number;
  /** Follow symbolic links that stay below the root. Otherwise any link is permission-denied (ELOOP). */
  readonly followSymlinks: boolean;
}

export interface BeneathFile {
  readonly fd: number;
  /** Names the opened object for as long as it is open. */
  readonly path: string;
  /** Idempotent. */
  close(): void;
}

/** `path` is relative to `root`. Errors: permission-denied (it leads out: EXDEV; a link: ELOOP), not-found. */
export type OpenBeneath = (root: string, path: string, options: BeneathOptions) => BeneathFile;

/** RESOLVE_* of openat2(2). */
const resolveFlag = { noMagicLinks: 0x2, noSymlinks: 0x4, beneath: 0x8 } as const;

/** O_PATH, which node:fs lacks: a descriptor for look-ups, without read permission. */
export const openPathFlag = 0o10000000;

export function openRoot(root: string): number {
  try {
    return openSync(root, openPathFlag | constants.O_DIRECTORY);
  } catch (error) {
    throw portErrorFrom(error, 'OpenBeneath', root);
  }
}

export function nativeOpenBeneath(binding: NativeBinding): OpenBeneath {
  return (root, path, options) => {
    const rootFd = openRoot(root);
    const resolve = resolveFlag.beneath | resolveFlag.noMagicLinks | (options.followSymlinks ? 0 : resolveFlag.noSymlinks);
    try {
      const fd = checked(binding.openBeneath(rootFd, path, options.flags, options.mode, resolve), 'OpenBeneath', `${root} ${path}`);
      return beneathFile(fd, () => checked(binding.closeDescriptor(fd), 'OpenBeneath: close', path));
    } finally {
      closeSync(rootFd);
    }
  };
}

export function beneathFile(fd: number, release: () => void): BeneathFile {
  let open = true;
  return {
    fd,
    path: `/proc/self/fd/${fd}`,
    close: () => {
      if (!open) return;
      open = false;
      release();
    },
  };
}
