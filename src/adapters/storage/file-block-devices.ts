// Devices of raw block volumes: a file per pod below `plugins` on which the device is bind-mounted, a loop device that holds it open, and the link in the
// pod's directory. losetup(8) attaches and detaches loop devices, with an argument list and never by a shell.
// Invariants: directories belong to the kubelet and are walked without links; a loop device is detached only if its backing file is the pod's own.
import { closeSync, constants, openSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import type { Call, PortOf } from '../../ports/operation.js';
import type { BlockDeviceOperations, BlockMap } from '../../ports/outbound/block-devices.js';
import type { MountOperations } from '../../ports/outbound/mounts.js';
import { parseMountinfo } from '../native-linux/index.js';
import { checkName, DirectoryHandle, making, walking } from './directory-handle.js';
import { carryOut, errnoName, FileRefusal } from './file-errors.js';
import { runProgram } from './mount-program.js';

const directoryMode = 0o750;
const fileMode = 0o750;
const loopBacking = /^loop\d+$/;

export interface BlockDevicePaths {
  readonly rootDirectory: string;
  /** The search path of `losetup`. */
  readonly programDirectories: readonly string[];
}

export class FileBlockDevices implements PortOf<BlockDeviceOperations> {
  private constructor(
    private readonly root: DirectoryHandle,
    private readonly paths: BlockDevicePaths,
    private readonly mounts: PortOf<MountOperations>,
  ) {}

  /** Makes the root if absent. Throws the kernel's error. */
  static open(paths: BlockDevicePaths, mounts: PortOf<MountOperations>): FileBlockDevices {
    return new FileBlockDevices(DirectoryHandle.root(paths.rootDirectory, directoryMode), paths, mounts);
  }

  close(): void {
    this.root.close();
  }

  map({ device, ...map }: BlockDeviceOperations['map']['request'], call: Call): Promise<null> {
    return carryOut('blockDevices.map', subjectOf(map), call, async () => {
      check(map);
      if (!device.startsWith('/')) throw new FileRefusal('invalid-argument', `${JSON.stringify(device)} is no absolute path`);
      const real = realpathSync(device);
      const { rdev } = deviceAt(real);
      this.checkPod(map);
      const file = this.fileOf(map);
      if (isMounted(file) && statSync(file).rdev !== rdev) await this.release(map, call);
      // First: only the link identifies a bind mount later.
      this.linked(map, (found) => found !== real, real);
      if (!isMounted(file)) await this.mounts.bind({ source: real, target: file, recursive: false, options: [] }, call);
      if (loopsOf(file).length === 0) await this.losetup(['--find', file], call);
      return null;
    });
  }

  mark({ device, ...map }: BlockDeviceOperations['mark']['request'], call: Call): Promise<null> {
    return carryOut('blockDevices.mark', subjectOf(map), call, () => {
      check(map);
      this.checkPod(map);
      this.linked(map, (found) => found === null, device);
      return null;
    });
  }

  private checkPod({ uid }: BlockMap): void {
    if (walking(this.root, ['pods', uid], () => true) === null) throw new FileRefusal('not-found', `the pod ${uid} has no directory`);
  }

  /** @param isNew whether the link must be replaced, given its current target; null: absent */
  private linked(map: BlockMap, isNew: (found: string | null) => boolean, target: string): void {
    making(this.root, ['pods', map.uid, 'volumeDevices', map.plugin], directoryMode, (links) => {
      const found = links.look(map.volume);
      if (!isNew(found?.isSymbolicLink() === true ? links.linkTarget(map.volume) : null)) return;
      const next = `..${map.volume}.new`;
      links.unlink(next);
      links.link(next, target);
      links.rename(next, map.volume);
    });
  }

  unmap({ keepsLink, ...map }: BlockDeviceOperations['unmap']['request'], call: Call): Promise<null> {
    return carryOut('blockDevices.unmap', subjectOf(map), call, async () => {
      check(map);
      const failures: unknown[] = [];
      await this.release(map, call, failures);
      try {
        walking(this.root, ['plugins', ...map.directory], (directory) => directory.unlink(map.uid));
        // The link stays until everything else is removed, to mark the remainder.
        if (!keepsLink && failures.length === 0) walking(this.root, ['pods', map.uid, 'volumeDevices', map.plugin], (links) => links.unlink(map.volume));
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) throw failures[0];
      return null;
    });
  }

  users({ directory }: BlockDeviceOperations['users']['request'], call: Call): Promise<readonly string[]> {
    return carryOut('blockDevices.users', directory.join('/'), call, () => {
      const found = walking(this.root, ['plugins', ...directory.map(checkName)], (entries) => entries.entries().map(({ name }) => name));
      return (found ?? []).sort();
    });
  }

  /** Detaches the loop device and unmounts the bind mount. @param failures collects errors; if omitted, the first one is thrown */
  private async release(map: BlockMap, call: Call, failures: unknown[] | null = null): Promise<void> {
    const file = walking(this.root, ['plugins', ...map.directory], (directory) => `${directory.where()}/${map.uid}`);
    if (file === null) return;
    const trying = async (work: () => Promise<unknown>) => {
      try {
        await work();
      } catch (error) {
        if (failures === null) throw error;
        failures.push(error);
      }
    };
    for (const loop of loopsOf(file)) await trying(() => this.losetup(['--detach', `/dev/${loop}`], call));
    if (isMounted(file)) await trying(() => this.mounts.unmount({ target: file, force: false }, call));
  }

  /** Made when it is absent. */
  private fileOf({ directory, uid }: BlockMap): string {
    return making(this.root, ['plugins', ...directory], directoryMode, (entries) => {
      try {
        if (entries.look(uid) === null) closeSync(openSync(entries.at(uid), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, fileMode));
      } catch (error) {
        if (errnoName(error) !== 'EEXIST') throw error;
      }
      return `${entries.where()}/${uid}`;
    });
  }

  private losetup(given: readonly string[], call: Call): Promise<void> {
    return runProgram({ program: 'losetup', given, directories: this.paths.programDirectories }, call);
  }
}

/** Accepts only block devices, since a driver may have put anything there. */
function deviceAt(path: string): { readonly rdev: number } {
  const status = statSync(path);
  if (!status.isBlockDevice()) throw new FileRefusal('failed-precondition', `${path} is not a block device`);
  return status;
}

/** Names of the loop devices that hold the file. */
function loopsOf(file: string): readonly string[] {
  return readdirSync('/sys/block').filter((name) => loopBacking.test(name) && backingOf(name) === file);
}

function backingOf(loop: string): string | null {
  try {
    return readFileSync(`/sys/block/${loop}/loop/backing_file`, 'utf8')
      .replace(/\n$/, '')
      .replace(/ \(deleted\)$/, '');
  } catch {
    return null;
  }
}

function isMounted(path: string): boolean {
  return parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).some(({ mountPoint }) => mountPoint === path);
}

function check({ uid, plugin, volume, directory }: BlockMap): void {
  if (directory.length < 2) throw new FileRefusal('invalid-argument', 'a block volume has a directory of its own');
  for (const name of [uid, plugin, volume, ...directory]) checkName(name);
}

function subjectOf({ uid, plugin, volume }: BlockMap): string {
  return `${uid} ${plugin}/${volume}`;
}
