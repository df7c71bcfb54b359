// Mounts of kernel file systems and bind mounts. Another port mounts file systems with a daemon or a helper (nfs, fuse).
// Invariant: a bind mount is never less restricted than its source and the request; a half-made one is unmounted again.
import type { Operation } from '../operation.js';

/** mount(8)'s words: `ro`, `rw`, `nosuid`, `nodev`, `noexec`, `noatime`, `nodiratime`, `relatime`, `strictatime`, `sync`, `dirsync`; others are passed to the file system. */
export type MountOptions = readonly string[];

export type MountPropagation = 'private' | 'rprivate' | 'slave' | 'rslave' | 'shared' | 'rshared' | 'unbindable' | 'runbindable';

/** `corrupted`: the path is a mount whose file system doesn't answer properly any more; it can be unmounted, not examined. */
export type MountState = 'mounted' | 'not-mounted' | 'absent' | 'corrupted';

export interface MountRequest {
  /** A device, or a word for file systems without one. */
  readonly source: string;
  readonly target: string;
  readonly fsType: string;
  readonly options: MountOptions;
}

export interface BindRequest {
  readonly source: string;
  readonly target: string;
  /** Mounts below the source come along. Only the top one gets the options. */
  readonly recursive: boolean;
  readonly options: MountOptions;
}

export interface RemountRequest {
  readonly target: string;
  /** Replaces the existing options. */
  readonly options: MountOptions;
  /** Options of this mount alone; otherwise of the file system, at all its mounts. */
  readonly bindOnly: boolean;
}

/**
 * Paths are absolute. A call may wait for a file system; once the kernel has it, it isn't interrupted: cancelling counts before that.
 * Errors: not-found, permission-denied, invalid-argument, failed-precondition (busy), unavailable, resource-exhausted (too many outstanding).
 */
export interface MountOperations {
  /** Not idempotent: a second call mounts on top. */
  readonly mount: Operation<MountRequest, null>;
  /** Not idempotent. Keeps the source mount's ro, nosuid, nodev, noexec and atime options. */
  readonly bind: Operation<BindRequest, null>;
  readonly remount: Operation<RemountRequest, null>;
  readonly propagate: Operation<{ readonly target: string; readonly propagation: MountPropagation }, null>;
  /** The topmost mount at `target`; not mounted or absent is success. Never lazy. `force` aborts a network file system's outstanding requests. */
  readonly unmount: Operation<{ readonly target: string; readonly force: boolean }, null>;
  /** Follows no symbolic link at the end of the path. */
  readonly state: Operation<{ readonly path: string }, MountState>;
}
