// Usage of the file system that holds a path.
import type { Operation } from '../operation.js';

export interface FilesystemUsage {
  /** Magic number of the file system's type, as statfs(2) gives it. */
  readonly type: bigint;
  readonly capacityBytes: bigint;
  readonly freeBytes: bigint;
  /** The space available to an unprivileged process. */
  readonly availableBytes: bigint;
  /** 0 where the file system has no fixed number of them. */
  readonly inodes: bigint;
  readonly inodesFree: bigint;
  /** Options of this mount, mount(8)'s words in the order ro, nosuid, nodev, noexec, noatime, nodiratime, relatime; null if unknown. */
  readonly mountOptions: readonly string[] | null;
}

export interface FilesystemUsageOperations {
  /** Errors: not-found, permission-denied, unavailable (a dead network file system). May wait as long as the file system does. */
  readonly usage: Operation<{ readonly path: string }, FilesystemUsage>;
}
