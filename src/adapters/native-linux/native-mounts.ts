// Mounts and the use of file systems on mount(2), umount2(2), statx(2) and statfs(2), all on libuv's pool.
// Invariant: a bind is two calls, since the first one ignores every option but recursion; when the second fails the first is undone.
import { readFile } from 'node:fs/promises';
import type { Call, PortOf } from '../../ports/operation.js';
import type { FilesystemUsage, FilesystemUsageOperations } from '../../ports/outbound/filesystem-usage.js';
import type { BindRequest, MountOperations, MountPropagation, MountRequest, MountState, RemountRequest } from '../../ports/outbound/mounts.js';
import type { NativeBinding } from './binding.d.ts';
import { checked, errno, mayStart, portErrorOf } from './errno.js';
import { bindFlagsOf, mountFlag, mountFlagsOf, mountOptionsOfStatfs, propagationFlagsOf } from './mount-options.js';
import { parseMountinfo } from './mountinfo.js';

const unmountFlag = { force: 1, noFollow: 8 } as const;

/** Errors of a mount whose file system is dead. */
export const corruptedMountErrors: ReadonlySet<number> = new Set(
  [errno.ENOTCONN, errno.ESTALE, errno.EIO, errno.EACCES, errno.EWOULDBLOCK, errno.ENODEV, 112 /* EHOSTDOWN, which node:os doesn't list */].map((number) => -number),
);

export class NativeMounts implements PortOf<MountOperations>, PortOf<FilesystemUsageOperations> {
  readonly #binding: NativeBinding;

  constructor(binding: NativeBinding) {
    this.#binding = binding;
  }

  async mount(request: MountRequest, call: Call): Promise<null> {
    mayStart(call, 'mounts.mount', request.target);
    const { flags, data } = mountFlagsOf(request.options);
    checked(await this.#binding.mount(request.source, request.target, request.fsType, flags, data), 'mounts.mount', request.target);
    return null;
  }

  async bind(request: BindRequest, call: Call): Promise<null> {
    const { source, target } = request;
    mayStart(call, 'mounts.bind', target);
    const wanted = bindFlagsOf(request.options, 'mounts.bind', target);
    checked(await this.#binding.mount(source, target, '', mountFlag.bind | (request.recursive ? mountFlag.recursive : 0), ''), 'mounts.bind', target);
    try {
      const inherited = bindFlagsOf((await this.usage({ path: target }, call)).mountOptions ?? [], 'mounts.bind', target);
      checked(await this.#binding.mount('', target, '', mountFlag.bind | mountFlag.remount | wanted | inherited, ''), 'mounts.bind', target);
    } catch (error) {
      // A recursive bind may hold mounts of its own; an incomplete undo stays an error of this bind.
      checked(await this.#binding.unmount(target, unmountFlag.noFollow), 'mounts.bind: undo', target);
      throw error;
    }
    return null;
  }

  async remount(request: RemountRequest, call: Call): Promise<null> {
    const { target, options, bindOnly } = request;
    mayStart(call, 'mounts.remount', target);
    if (bindOnly) {
      const flags = bindFlagsOf(options, 'mounts.remount', target);
      checked(await this.#binding.mount('', target, '', mountFlag.bind | mountFlag.remount | flags, ''), 'mounts.remount', target);
      return null;
    }
    const { flags, data } = mountFlagsOf(options);
    checked(await this.#binding.mount('', target, '', mountFlag.remount | flags, data), 'mounts.remount', target);
    return null;
  }

  async propagate({ target, propagation }: { target: string; propagation: MountPropagation }, call: Call): Promise<null> {
    mayStart(call, 'mounts.propagate', target);
    checked(await this.#binding.mount('', target, '', propagationFlagsOf(propagation), ''), 'mounts.propagate', target);
    return null;
  }

  async unmount({ target, force }: { target: string; force: boolean }, call: Call): Promise<null> {
    mayStart(call, 'mounts.unmount', target);
    const status = await this.#binding.unmount(target, unmountFlag.noFollow | (force ? unmountFlag.force : 0));
    // EINVAL: not a mount point.
    if (status < 0 && status !== -errno.EINVAL && status !== -errno.ENOENT) throw portErrorOf(status, 'mounts.unmount', target);
    return null;
  }

  async state({ path }: { path: string }, call: Call): Promise<MountState> {
    mayStart(call, 'mounts.state', path);
    const status = await this.#binding.mountRoot(path);
    if (status >= 0) return status === 1 ? 'mounted' : 'not-mounted';
    if (status === -errno.ENOENT || status === -errno.ENOTDIR) return 'absent';
    // A kernel before 5.8 doesn't report it; its mount table does.
    if (status === -errno.EOPNOTSUPP) return mountStateInTable(path);
    if (corruptedMountErrors.has(status)) return 'corrupted';
    throw portErrorOf(status, 'mounts.state', path);
  }

  async usage({ path }: { path: string }, call: Call): Promise<FilesystemUsage> {
    mayStart(call, 'filesystemUsage.usage', path);
    const figures = await this.#binding.statfs(path);
    if (typeof figures === 'number') throw portErrorOf(figures, 'filesystemUsage.usage', path);
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
