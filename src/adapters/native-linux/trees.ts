// Path checks and walks of whole trees, which may block on a file system forever.
// Invariants: no link below the path is followed, and a walk stays on its file system. Errors are port errors; absent is null.

export interface PathStatus {
  readonly mode: number;
  readonly device: bigint;
  readonly inode: bigint;
  readonly uid: number;
  readonly gid: number;
}

/** As du(1) counts. */
export interface TreeUsage {
  readonly usedBytes: number;
  /** The root is one of them. */
  readonly inodesUsed: number;
  /** Something was left out, for its number or depth, or since it can't be read: the numbers are too low. */
  readonly isPartial: boolean;
}

export interface TreeOwnership {
  readonly gid: number;
  readonly fileBits: number;
  readonly directoryBits: number;
  readonly onRootMismatch: boolean;
}

export interface Trees {
  status(path: string, followLinks: boolean): Promise<PathStatus | null>;
  usage(path: string, entriesMax: number): Promise<TreeUsage | null>;
  /** Everything below the root, then the root; a root that is a link is an error. `gid`: the root's before. */
  setOwnership(path: string, ownership: TreeOwnership): Promise<{ readonly walked: boolean; readonly gid: number; readonly failures: number }>;
  /** The number of files that a running `setOwnership` of this path has processed; null if none runs. */
  ownershipProgress(path: string): number | null;
}
