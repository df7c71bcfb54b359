// The addon's whole surface. Same names and same order as the table in native/addon.cc, so that the two can be read side by side.
// No defaults and no optional arguments here: those live in the classes around it. Every number that can fail is negative errno then;
// a wrong type throws a TypeError. Handles are numbers of this environment; a stale one is answered with -EBADF.

/** One number: a value of 0 and more, or negative errno. */
export type Status = number;

export interface NativeFileBatchResult {
  /** The items one after the other. */
  readonly bytes: Uint8Array;
  /** For each slot its length or negative errno, then 1 when truncated. */
  readonly items: Int32Array;
}

export interface NativeFileBatchNumbers {
  /** The items one after the other. */
  readonly numbers: Float64Array;
  /** For each slot the count of its numbers, or negative errno. */
  readonly counts: Int32Array;
}

export interface NativeFileStepOutcomes {
  /** Of each step. */
  readonly statuses: Int32Array;
  /** Of each step up to the last that has one. */
  readonly texts: readonly string[];
}

export interface NativeBinding {
  readonly abi: number;
  /** `records`: wd, mask, cookie of each event. `status` below 0: the watch has ended. Not keeping the process alive, as all watches. */
  inotifyOpen(onBatch: (records: Int32Array, names: string[], lost: boolean, status: Status) => void): Status;
  /** The watch descriptor. */
  inotifyAdd(handle: number, path: string, mask: number): Status;
  inotifyRemove(handle: number, wd: number): Status;
  /** `records` are raw. `status` below 0: ended. */
  kmsgOpen(path: string, fromOldest: boolean, onBatch: (records: string[], overruns: number, status: Status) => void): Status;
  /** `status` below 0: ended (-ENODEV: the cgroup was removed). */
  psiOpen(path: string, trigger: string, onEvent: (status: Status) => void): Status;
  cgroupEventOpen(controlPath: string, targetPath: string, eventArguments: string, onEvent: (status: Status) => void): Status;
  watchKeepAlive(handle: number, keep: boolean): Status;
  watchClose(handle: number): Status;
  fileBatchOpen(descriptorsMax: number): Status;
  /** The slot. */
  fileBatchAdd(handle: number, path: string): Status;
  /** `form`: see number-form.ts; `keys`: a line each. The slot, for fileBatchNumbersOnPool alone. */
  fileBatchAddNumbers(handle: number, path: string, form: number, keys: string): Status;
  fileBatchRemove(handle: number, slot: number): Status;
  /** `out`: slots.length * itemBytesMax bytes or more; `items`: two numbers a slot, as in NativeFileBatchResult. The bytes written. */
  fileBatchRead(handle: number, slots: Int32Array, itemBytesMax: number, out: Uint8Array, items: Int32Array): Status;
  fileBatchReadOnPool(handle: number, slots: Int32Array, itemBytesMax: number): Promise<NativeFileBatchResult> | Status;
  fileBatchNumbersOnPool(handle: number, slots: Int32Array, itemBytesMax: number): Promise<NativeFileBatchNumbers> | Status;
  fileBatchDescriptors(handle: number): Status;
  fileBatchClose(handle: number): Status;
  /** `numbers`: kind, directory, tolerated failures and number of each step; `texts`: name and text of each, zero bytes between them. See file-steps.ts. */
  fileStepsOnPool(roots: Int32Array, numbers: Int32Array, texts: string): Promise<NativeFileStepOutcomes> | Status;
  /** The next seven run on threads of their own, since each may block on a file system forever; a plain number: not started (-EAGAIN, too many outstanding). */
  mount(source: string, target: string, type: string, flags: number, data: string): Promise<Status> | Status;
  unmount(target: string, flags: number): Promise<Status> | Status;
  /** 1 or 0; -EOPNOTSUPP if the kernel doesn't report it. */
  mountRoot(path: string): Promise<Status> | Status;
  /** type, block bytes, blocks, free, available, files, files free, flags. */
  statfs(path: string): Promise<BigUint64Array | Status> | Status;
  /** mode, device, inode, uid, gid. */
  statPath(path: string, follow: boolean): Promise<BigUint64Array | Status> | Status;
  /** bytes, inodes, 1 when some were left out. */
  treeUsage(path: string, entriesMax: number): Promise<BigUint64Array | Status> | Status;
  /** 1 when it was walked, the root's group before, entries, failures. */
  treeOwnership(path: string, gid: number, fileBits: number, directoryBits: number, onRootMismatch: boolean): Promise<BigUint64Array | Status> | Status;
  /** Immediate: the number of entries that the walk of `treeOwnership` with this path has processed; -ENOENT: none runs. */
  treeOwnershipProgress(path: string): Status;
  /** file system type, the directory's project, 1 when new entries inherit it, errno of requesting the project's quota, bytes, inodes. */
  projectUsage(path: string): Promise<BigUint64Array | Status> | Status;
  /** For any project on the path's file system: bytes, inodes, 1 with limits. */
  projectQuota(path: string, projectId: number): Promise<BigUint64Array | Status> | Status;
  /** With `tree` for everything in the directory, too: entries, failures. Project 0: none, without inheritance. */
  projectAssign(path: string, projectId: number, tree: boolean): Promise<BigUint64Array | Status> | Status;
  /** 0: no limit. */
  projectLimit(path: string, projectId: number, kibibytes: bigint): Promise<Status> | Status;
  /** A descriptor, to be closed with closeDescriptor. */
  openBeneath(rootFd: number, path: string, flags: number, mode: number, resolve: number): Status;
  closeDescriptor(fd: number): Status;
  sdNotify(socketPath: string, state: string): Status;
  /** An exclusive flock, not waiting: -EAGAIN when another holds it. `lock` false gives it back. */
  flockTry(fd: number, lock: boolean): Status;
  /** Soft and hard; 2^64 - 1 is unlimited. */
  limitGet(resource: number): BigUint64Array | Status;
  limitSet(resource: number, soft: bigint, hard: bigint): Status;
}
