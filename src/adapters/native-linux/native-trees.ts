// Path checks and tree walks on the addon, each on a thread of its own.
import type { NativeBinding } from './binding.d.ts';
import { errno, portErrorOf } from './errno.js';
import type { PathStatus, TreeOwnership, Trees, TreeUsage } from './trees.js';

export class NativeTrees implements Trees {
  readonly #binding: NativeBinding;

  constructor(binding: NativeBinding) {
    this.#binding = binding;
  }

  async status(path: string, followLinks: boolean): Promise<PathStatus | null> {
    const numbers = await this.#binding.statPath(path, followLinks);
    if (isAbsent(numbers)) return null;
    const [mode = 0n, device = 0n, inode = 0n, uid = 0n, gid = 0n] = answered(numbers, 'status', path);
    return { mode: Number(mode), device, inode, uid: Number(uid), gid: Number(gid) };
  }

  async usage(path: string, entriesMax: number): Promise<TreeUsage | null> {
    const numbers = await this.#binding.treeUsage(path, entriesMax);
    if (isAbsent(numbers)) return null;
    const [bytes = 0n, inodes = 0n, partial = 0n] = answered(numbers, 'usage', path);
    return { usedBytes: Number(bytes), inodesUsed: Number(inodes), isPartial: partial === 1n };
  }

  async setOwnership(path: string, { gid, fileBits, directoryBits, onRootMismatch }: TreeOwnership): ReturnType<Trees['setOwnership']> {
    const numbers = await this.#binding.treeOwnership(path, gid, fileBits, directoryBits, onRootMismatch);
    const [walked = 0n, before = 0n, , failures = 0n] = answered(numbers, 'setOwnership', path);
    return { walked: walked === 1n, gid: Number(before), failures: Number(failures) };
  }

  ownershipProgress(path: string): number | null {
    const entries = this.#binding.treeOwnershipProgress(path);
    return entries < 0 ? null : entries;
  }
}

function isAbsent(numbers: BigUint64Array | number): boolean {
  return numbers === -errno.ENOENT || numbers === -errno.ENOTDIR;
}

function answered(numbers: BigUint64Array | number, operation: string, path: string): BigUint64Array {
  if (typeof numbers === 'number') throw portErrorOf(numbers, `trees.${operation}`, path);
  return numbers;
}
