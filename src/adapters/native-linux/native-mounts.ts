// Mounts and FilesystemUsageReader on mount(2), umount2(2), statx(2) and statfs(2), all on libuv's pool.
// Invariant: a bind is two calls, since the first one ignores every option but recursion; when the second fails the first is undone.
import { readFile } from 'node:fs/promises';
import type { FilesystemUsage, FilesystemUsageReader } from '../../ports/outbound/filesystem-usage.js';
import type { BindRequest, MountOptions, MountPropagation, MountRequest, MountState, Mounts } from '../../ports/outbound/mounts.js';
import type { NativeBinding } from './binding.js';
import { checked, errno, portErrorOf } from './errno.js';
import { bindFlagsOf, mountFlag, mountFlagsOf, mountOptionsOfStatfs, propagationFlagsOf } from './mount-options.js';
import { parseMountinfo } from './mountinfo.js';

const unmountFlag = { force: 1, noFollow: 8 } as const;

/** What a mount answers whose file system is dead. */
export const corruptedMountErrors: ReadonlySet<number> = new Set(
  [errno.ENOTCONN, errno.ESTALE, errno.EIO, errno.EACCES, errno.EWOULDBLOCK, errno.ENODEV, 112 /* EHOSTDOWN, which node:os doesn't list */].map((number) => -number),
);

export class NativeMounts implements Mounts, FilesystemUsageReader {
  readonly #binding: NativeBinding;

  constructor(binding: NativeBinding) {
    this.#binding = binding;
  }

  async mount(request: MountRequest): Promise<void> {
    const { flags, data } = mountFlagsOf(request.options);
    checked(await this.#binding.mount(request.source, request.target, request.fsType, flags, data), 'Mounts.mount', request.target);
  }

  async bind(request: BindRequest): Promise<void> {
    const { source, target } = request;
    const wanted = bindFlagsOf(request.options, 'Mounts.bind', target);
    checked(await this.#binding.mount(source, target, '', mountFlag.bind | (request.recursive ? mountFlag.recursive : 0), ''), 'Mounts.bind', target);
    try {
      const inherited = bindFlagsOf((await this.usage(target)).mountOptions ?? [], 'Mounts.bind', target);
      checked(await this.#binding.mount('', target, '', mountFlag.bind | mountFlag.remount | wanted | inherited, ''), 'Mounts.bind', target);
    } catch (error) {
      // A recursive bind may hold mounts of its own; what can't be undone stays an error of this bind.
      checked(await this.#binding.unmount(target, unmountFlag.noFollow), 'Mounts.bind: undo', target);
      throw error;
    }
  }

  async remount(target: string, options: MountOptions, bindOnly: boolean): Promise<void> {
    if (bindOnly) {
      const flags = bindFlagsOf(options, 'Mounts.remount', target);
      checked(await this.#binding.mount('', target, '', mountFlag.bind | mountFlag.remount | flags, ''), 'Mounts.remount', target);
      return;
    }
    const { flags, data } = mountFlagsOf(options);
    checked(await this.#binding.mount('', target, '', mountFlag.remount | flags, data), 'Mounts.remount', target);
  }

  async propagate(target: string, propagation: MountPropagation): Promise<void> {
    checked(await this.#binding.mount('', target, '', propagationFlagsOf(propagation), ''), 'Mounts.propagate', target);
  }

  async unmount(target: string, force: boolean): Promise<void> {
    const status = await this.#binding.unmount(target, unmountFlag.noFollow | (force ? unmountFlag.force : 0));
    // EINVAL: not a mount point.
    if (status < 0 && status !== -errno.EINVAL && status !== -errno.ENOENT) throw portErrorOf(status, 'Mounts.unmount', target);
  }

  async state(path: string): Promise<MountState> {
    const status = await this.#binding.mountRoot(path);
    if (status >= 0) return status === 1 ? 'mounted' : 'not-mounted';
    if (status === -errno.ENOENT || status === -errno.ENOTDIR) return 'absent';
    // A kernel before 5.8 doesn't say; its table of mounts does.
    if (status === -errno.EOPNOTSUPP) return mountStateInTable(path);
    if (corruptedMountErrors.has(status)) return 'corrupted';
    throw portErrorOf(status, 'Mounts.state', path);
  }

  async usage(path: string): Promise<FilesystemUsage> {
    const figures = await this.#binding.statfs(path);
    if (typeof figures === 'number') throw portErrorOf(figures, 'FilesystemUsageReader.usage', path);
    const [type, blockBytes, blocks, free, available, inodes, inodesFree, flags] = figures as unknown as readonly [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint];
    return {
      type,
      capacityBytes: blocks * blockBytes,
      freeBytes: free * blockBytes,
      availableBytes: available * blockBytes,
      inodes,
      inodesFree,
      mountOptions: mountOptionsOfStatfs(flags),
    };
  }
}

/** By the table alone; the path must be absolute and without symbolic links. */
export async function mountStateInTable(path: string): Promise<'mounted' | 'not-mounted'> {
  const entries = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  return entries.some((entry) => entry.mountPoint === path) ? 'mounted' : 'not-mounted';
}
