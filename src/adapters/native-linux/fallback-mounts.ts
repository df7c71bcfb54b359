// Mounts and FilesystemUsageReader without the addon: mount(8) and umount(8), and the kernel's table of mounts.
// Invariant: no shell; a failed command's own words are the error's message.
import { execFile } from 'node:child_process';
import { lstat, readFile, realpath, statfs } from 'node:fs/promises';
import type { FilesystemUsage, FilesystemUsageReader } from '../../ports/outbound/filesystem-usage.js';
import type { BindRequest, MountOptions, MountPropagation, MountRequest, MountState, Mounts } from '../../ports/outbound/mounts.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { portErrorFrom } from './errno.js';
import { bindFlagsOf, keptMountOptions } from './mount-options.js';
import { type MountinfoEntry, parseMountinfo } from './mountinfo.js';
import { corruptedMountErrors, mountStateInTable } from './native-mounts.js';

export class FallbackMounts implements Mounts, FilesystemUsageReader {
  async mount(request: MountRequest): Promise<void> {
    await run('mount', ['-i', '-t', request.fsType, ...optionArguments(request.options), request.source, request.target], 'Mounts.mount', request.target);
  }

  async bind(request: BindRequest): Promise<void> {
    const { source, target } = request;
    bindFlagsOf(request.options, 'Mounts.bind', target);
    await run('mount', ['-i', request.recursive ? '--rbind' : '--bind', source, target], 'Mounts.bind', target);
    try {
      const inherited = (await this.usage(target)).mountOptions ?? [];
      await this.remount(target, [...inherited, ...request.options.filter((option) => option !== 'rw')], true);
    } catch (error) {
      await this.unmount(target, false);
      throw error;
    }
  }

  async remount(target: string, options: MountOptions, bindOnly: boolean): Promise<void> {
    if (bindOnly) bindFlagsOf(options, 'Mounts.remount', target);
    const words = bindOnly ? ['remount', 'bind', ...negatedOptions(options), ...options] : ['remount', ...options];
    await run('mount', ['-i', ...optionArguments(words), target], 'Mounts.remount', target);
  }

  async propagate(target: string, propagation: MountPropagation): Promise<void> {
    await run('mount', [`--make-${propagation}`, target], 'Mounts.propagate', target);
  }

  async unmount(target: string, force: boolean): Promise<void> {
    try {
      await run('umount', ['-i', ...(force ? ['-f'] : []), target], 'Mounts.unmount', target);
    } catch (error) {
      // umount(8) doesn't tell "not mounted" from other failures but in words.
      const state = await this.state(target);
      if (state !== 'absent' && state !== 'not-mounted') throw error;
    }
  }

  async state(path: string): Promise<MountState> {
    try {
      const link = (await lstat(path)).isSymbolicLink();
      return link ? 'not-mounted' : await mountStateInTable(await realpath(path));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === 'ENOENT' || code === 'ENOTDIR') return 'absent';
      const errno = error instanceof Error && 'errno' in error ? error.errno : null;
      if (typeof errno === 'number' && corruptedMountErrors.has(errno)) return 'corrupted';
      throw portErrorFrom(error, 'Mounts.state', path);
    }
  }

  async usage(path: string): Promise<FilesystemUsage> {
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
      throw portErrorFrom(error, 'FilesystemUsageReader.usage', path);
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

/** mount(8) keeps what the mount has and nobody named; the system call, and so the port, replaces them all. */
function negatedOptions(options: MountOptions): string[] {
  const pairs = { ro: 'rw', nosuid: 'suid', nodev: 'dev', noexec: 'exec' };
  return Object.entries(pairs).flatMap(([word, negated]) => (options.includes(word) ? [] : [negated]));
}

function optionArguments(options: MountOptions): string[] {
  return options.length === 0 ? [] : ['-o', options.join(',')];
}

/** mount(8) and umount(8) say what failed in words only; these are their words for the usual errors. */
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
      reject(new PortError({ kind, message: `${operation} ${subject}: ${stderr.trim()}`, operation, subject, cause: error }));
    });
  });
}
