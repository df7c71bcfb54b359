// Mounting kernel file systems and binding directories. File systems with a daemon or a helper (nfs, fuse) are another port's.
// Invariant: a bind never ends up less restricted than its source and what was asked for; a half-made bind is taken down again.

/** mount(8)'s words: `ro`, `rw`, `nosuid`, `nodev`, `noexec`, `noatime`, `nodiratime`, `relatime`, `strictatime`, `sync`, `dirsync`; anything else goes to the file system. */
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

/** Paths are absolute. Calls may wait for a file system, never on the event loop. Errors: not-found, permission-denied, invalid-argument, failed-precondition (busy), unavailable. */
export interface Mounts {
  /** Not idempotent: a second call mounts on top. */
  mount(request: MountRequest): Promise<void>;
  /** Not idempotent. Keeps the source mount's ro, nosuid, nodev, noexec and atime options. */
  bind(request: BindRequest): Promise<void>;
  /** New options for what is mounted at `target`: of the file system, or with `bindOnly` of this mount alone. */
  remount(target: string, options: MountOptions, bindOnly: boolean): Promise<void>;
  propagate(target: string, propagation: MountPropagation): Promise<void>;
  /** The topmost mount at `target`; not mounted or absent is success. Never lazy. `force` aborts a network file system's outstanding requests. */
  unmount(target: string, force: boolean): Promise<void>;
  /** Follows no symbolic link at the end of the path. */
  state(path: string): Promise<MountState>;
}
