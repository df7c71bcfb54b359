// Projects of directories on the addon, each call on a thread of its own.
import type { NativeBinding } from './binding.d.ts';
import { type DirectoryProject, type DirectoryProjects, type ProjectCount, quotaFileSystem, quotaRefusal } from './directory-projects.js';
import { errno, portErrorOf } from './errno.js';

export class NativeDirectoryProjects implements DirectoryProjects {
  readonly #binding: NativeBinding;

  constructor(binding: NativeBinding) {
    this.#binding = binding;
  }

  async look(path: string): Promise<DirectoryProject | null> {
    const numbers = await this.#binding.projectUsage(path);
    if (numbers === -errno.ENOENT || numbers === -errno.ENOTDIR) return null;
    const [type = 0n, projectId = 0n, inherits = 0n, problem = 0n, bytes = 0n, inodes = 0n] = answered(numbers, 'look', path);
    return { projectId: Number(projectId), inherits: inherits === 1n, count: countOf(path, type, Number(problem), bytes, inodes) };
  }

  async isInUse(path: string, projectId: number): Promise<boolean> {
    const [bytes, inodes, limited] = answered(await this.#binding.projectQuota(path, projectId), 'isInUse', path);
    return bytes !== 0n || inodes !== 0n || limited === 1n;
  }

  async assign(path: string, projectId: number, tree: boolean): Promise<number> {
    const [, failures] = answered(await this.#binding.projectAssign(path, projectId, tree), 'assign', path);
    return Number(failures);
  }

  async limit(path: string, projectId: number, kibibytes: bigint): Promise<void> {
    const status = await this.#binding.projectLimit(path, projectId, kibibytes);
    if (status >= 0 || (kibibytes === 0n && quotaRefusal(-status) !== null)) return;
    throw portErrorOf(status, 'projects.limit', path);
  }
}

function countOf(path: string, type: bigint, problem: number, bytes: bigint, inodes: bigint): ProjectCount {
  const fileSystem = quotaFileSystem(type);
  if (fileSystem === null) return { kind: 'unsupported', reason: `${path} is neither on ext4 nor on XFS` };
  if (problem === 0) return { kind: 'counted', usedBytes: Number(bytes), inodesUsed: Number(inodes) };
  const reason = quotaRefusal(problem);
  if (reason === null) throw portErrorOf(-problem, 'projects.look', path);
  return { kind: 'unsupported', reason: `${path} is on ${fileSystem}: ${reason}` };
}

function answered(numbers: BigUint64Array | number, operation: string, path: string): BigUint64Array {
  if (typeof numbers === 'number') throw portErrorOf(numbers, `projects.${operation}`, path);
  return numbers;
}
