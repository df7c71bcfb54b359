// Mounts and file system usage without the addon: mount(8) and umount(8), and the kernel's mount table.
// Invariant: no shell; the error's message is a failed command's output.
import { execFile } from 'node:child_process';
import { lstat, readFile, realpath, statfs } from 'node:fs/promises';
import type { Call, PortOf } from '../../ports/operation.js';
import type { FilesystemUsage, FilesystemUsageOperations } from '../../ports/outbound/filesystem-usage.js';
import type { BindRequest, MountOperations, MountOptions, MountPropagation, MountRequest, MountState, RemountRequest } from '../../ports/outbound/mounts.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { mayStart, portErrorFrom } from './errno.js';
import { bindFlagsOf, keptMountOptions } from './mount-options.js';
import { type MountinfoEntry, parseMountinfo } from './mountinfo.js';
import { corruptedMountErrors, mountStateInTable } from './native-mounts.js';

export class FallbackMounts implements PortOf<MountOperations>, PortOf<FilesystemUsageOperations> {
  async mount(request: MountRequest, call: Call): Promise<null> {
    mayStart(call, 'mounts.mount', request.target);
    await run('mount', ['-i', '-t', request.fsType, ...optionArguments(request.options), request.source, request.target], 'mounts.mount', request.target);
    return null;
  }

  async bind(request: BindRequest, call: Call): Promise<null> {
    const { source, target } = request;
    mayStart(call, 'mounts.bind', target);
    bindFlagsOf(request.options, 'mounts.bind', target);
    await run('mount', ['-i', request.recursive ? '--rbind' : '--bind', source, target], 'mounts.bind', target);
    try {
      const inherited = (await this.usage({ path: target }, call)).mountOptions ?? [];
      await this.remount({ target, options: [...inherited, ...request.options.filter((option) => option !== 'rw')], bindOnly: true }, call);
    } catch (error) {
      // Undone also when the call was cancelled meanwhile.
      await run('umount', ['-i', target], 'mounts.bind: undo', target);
      throw error;
    }
    return null;
  }

  async remount(request: RemountRequest, call: Call): Promise<null> {
    const { target, options, bindOnly } = request;
    mayStart(call, 'mounts.remount', target);
    if (bindOnly) bindFlagsOf(options, 'mounts.remount', target);
    const words = bindOnly ? ['remount', 'bind', ...negatedOptions(options), ...options] : ['remount', ...options];
    await run('mount', ['-i', ...optionArguments(words), target], 'mounts.remount', target);
    return null;
  }

  async propagate({ target, propagation }: { target: string; propagation: MountPropagation }, call: Call): Promise<null> {
    mayStart(call, 'mounts.propagate', target);
    await run('mount', [`--make-${propagation}`, target], 'mounts.propagate', target);
    return null;
  }

  async unmount({ target, force }: { target: string; force: boolean }, call: Call): Promise<null> {
    mayStart(call, 'mounts.unmount', target);
    try {
      await run('umount', ['-i', ...(force ? ['-f'] : []), target], 'mounts.unmount', target);
    } catch (error) {
      // umount(8) distinguishes "not mounted" from other failures only by its text.
      const state = await this.state({ path: target }, call);
      if (state !== 'absent' && state !== 'not-mounted') throw error;
    }
    return null;
  }

  async state({ path }: { path: string }, call: Call): Promise<MountState> {
    mayStart(call, 'mounts.state', path);
    try {
      const link = (await lstat(path)).isSymbolicLink();
      return link ? 'not-mounted' : await mountStateInTable(await realpath(path));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === 'ENOENT' || code === 'ENOTDIR') return 'absent';
      const errno = error instanceof Error && 'errno' in error ? error.errno : null;
      if (typeof errno === 'number' && corruptedMountErrors.has(errno)) return 'corrupted';
      throw portErrorFrom(error, 'mounts.state', path);
    }
  }

  async usage({ path }: { path: string }, call: Call): Promise<FilesystemUsage> {
    mayStart(call, 'filesystemUsage.usage', path);
    try {
      const figures = await statfs(path, { bigint: true });
      const mount = await mountOf(path);
      return {
        type: figures.type,
        capacityBytes: figures.blocks * figures.bsize,
        freeBytes: figures.bfree * figures.bsize,
        availableBytes: figures.bavail * figures.bsize,
        inodes: figures.files,
        inodesFree: figures.ffree,
        mountOptions: mount === null ? null : keptMountOptions([...mount.options, ...(mount.superOptions.includes('ro') ? ['ro'] : [])]),
      };
    } catch (error) {
      throw portErrorFrom(error, 'filesystemUsage.usage', path);
    }
  }
}

/** The mount that holds a path: the longest mount point that leads to it, of several at one point the last. */
async function mountOf(path: string): Promise<MountinfoEntry | null> {
  const real = await realpath(path);
  let best: MountinfoEntry | null = null;
  for (const entry of parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'))) {
    const holds = entry.mountPoint === '/' || real === entry.mountPoint || real.startsWith(`${entry.mountPoint}/`);
    if (holds && (best === null || entry.mountPoint.length >= best.mountPoint.length)) best = entry;
  }
  return best;
}

/** mount(8) keeps existing options that aren't named; the system call, and so the port, replaces them all. */
function negatedOptions(options: MountOptions): string[] {
  const pairs = { ro: 'rw', nosuid: 'suid', nodev: 'dev', noexec: 'exec' };
  return Object.entries(pairs).flatMap(([word, negated]) => (options.includes(word) ? [] : [negated]));
}

function optionArguments(options: MountOptions): string[] {
  return options.length === 0 ? [] : ['-o', options.join(',')];
}

/** mount(8) and umount(8) report failures only in words; these are their words for the usual errors. */
const failureWords: readonly (readonly [pattern: RegExp, kind: PortErrorKind])[] = [
  [/does not exist|no such file|not found|special device .* does not exist/i, 'not-found'],
  [/permission denied|must be superuser|operation not permitted/i, 'permission-denied'],
  [/target is busy|already mounted/i, 'failed-precondition'],
  [/unknown filesystem type|bad option|wrong fs type|bad usage/i, 'invalid-argument'],
];

function run(command: string, args: readonly string[], operation: string, subject: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      if (error.code === 'ENOENT') return reject(portErrorFrom(error, operation, command));
      const kind = failureWords.find(([pattern]) => pattern.test(stderr))?.[1] ?? 'unknown';
      reject(new PortError({ kind, message: `${operation} ${subject}: ${stderr.trim()}`, operation, subject, cause: Object.assign(error, { stderr }) }));
    });
  });
}
