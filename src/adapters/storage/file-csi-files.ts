// `vol_data.json` and the directories around a CSI volume's mount, on the root's file system. A mount point is never entered: mounts are read
// from the kernel's mount table.
// Invariant: only empty directories and the data file itself are removed, and only while nothing is mounted at or below the place.
import { closeSync, constants, fstatSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Call, PortOf } from '../../ports/operation.js';
import type { CsiFileOperations, StagedCsiVolume } from '../../ports/outbound/csi-files.js';
import type { VolumePlace } from '../../ports/outbound/volume-mounts.js';
import { parseMountinfo } from '../native-linux/index.js';
import { checkName, DirectoryHandle, making, walking } from './directory-handle.js';
import { carryOut, errnoName, FileRefusal } from './file-errors.js';
import { named } from './go-file-text.js';

const directoryMode = 0o750;
const fileMode = 0o644;
const dataFile = 'vol_data.json';
const stagingDirectory = ['plugins', 'kubernetes.io', 'csi'];
const devicesName = 'volumeDevices';
const devicesDirectory = [...stagingDirectory, devicesName];
const dataBytesMax = 64 * 1024;
/** Directories of block volumes' places, beside those of the volumes. */
const devicePlaces = ['publish', 'staging'];

export class FileCsiFiles implements PortOf<CsiFileOperations> {
  private constructor(private readonly root: DirectoryHandle) {}

  /** Makes the root if absent. Throws the kernel's error. */
  static open({ rootDirectory }: { readonly rootDirectory: string }): FileCsiFiles {
    return new FileCsiFiles(DirectoryHandle.root(rootDirectory, directoryMode));
  }

  close(): void {
    this.root.close();
  }

  prepare({ place, makesPlace, data }: CsiFileOperations['prepare']['request'], call: Call): Promise<null> {
    return carryOut('csiFiles.prepare', subjectOf(place), call, async () => {
      const elements = elementsOf(place);
      if (place.kind === 'pod' && walking(this.root, ['pods', place.uid], () => true) === null) {
        throw new FileRefusal('not-found', `the pod ${place.uid} has no directory`);
      }
      making(this.root, elements.slice(0, -1), directoryMode, (directory) => {
        if (data !== null) write(directory, data);
        // An existing mount is not entered: that could hang.
        if (makesPlace && directory.look(elements.at(-1) as string) === null) directory.ensure(elements.at(-1) as string, directoryMode).close();
      });
      return null;
    });
  }

  read({ place }: CsiFileOperations['read']['request'], call: Call): Promise<string | null> {
    return carryOut('csiFiles.read', subjectOf(place), call, () => walking(this.root, elementsOf(place).slice(0, -1), read));
  }

  staged(_request: null, call: Call): Promise<readonly StagedCsiVolume[]> {
    return carryOut('csiFiles.staged', '', call, () => {
      const below = (volumes: DirectoryHandle, inner: readonly string[]) => volumes.directoryNames().flatMap((name) => walking(volumes, [name, ...inner], readable) ?? []);
      const found = walking(this.root, stagingDirectory, (drivers) =>
        drivers.directoryNames().flatMap((driver) => (driver === devicesName ? [] : (walking(drivers, [driver], (volumes) => below(volumes, [])) ?? []))),
      );
      const devices = walking(this.root, devicesDirectory, (volumes) => below(volumes, ['data']));
      return [...(found ?? []).map((data) => ({ data, isDevice: false })), ...(devices ?? []).map((data) => ({ data, isDevice: true }))];
    });
  }

  prepareDevice({ volume, data }: CsiFileOperations['prepareDevice']['request'], call: Call): Promise<null> {
    return carryOut('csiFiles.prepareDevice', volume, call, () => {
      checkName(volume);
      making(this.root, [...devicesDirectory, volume, 'data'], directoryMode, (directory) => write(directory, data));
      for (const kind of devicePlaces) making(this.root, [...devicesDirectory, kind], directoryMode, (places) => places.ensure(volume, directoryMode).close());
      return null;
    });
  }

  removeDevice({ volume }: CsiFileOperations['removeDevice']['request'], call: Call): Promise<'removed' | 'mounted'> {
    return carryOut('csiFiles.removeDevice', volume, call, () => {
      checkName(volume);
      const outcome = walking(this.root, devicesDirectory, (devices) => {
        if ([volume, ...devicePlaces.map((kind) => `${kind}/${volume}`)].some((place) => isMounted(`${devices.where()}/${place}`))) return 'mounted';
        // The file last: it identifies the volume while anything is left.
        for (const kind of devicePlaces) walking(devices, [kind], (places) => places.removeDirectory(volume));
        walking(devices, [volume], (own) => {
          own.removeDirectory('dev');
          walking(own, ['data'], (directory) => {
            directory.unlink(`${dataFile}.new`);
            directory.unlink(dataFile);
          });
          own.removeDirectory('data');
        });
        devices.removeDirectory(volume);
        return 'removed';
      });
      return outcome === 'mounted' ? 'mounted' : 'removed';
    });
  }

  remove({ place }: CsiFileOperations['remove']['request'], call: Call): Promise<'removed' | 'mounted'> {
    return carryOut('csiFiles.remove', subjectOf(place), call, () => {
      const elements = elementsOf(place);
      const name = elements.at(-1) as string;
      const outcome = walking(this.root, elements.slice(0, -1), (directory) => {
        const path = `${directory.where()}/${name}`;
        if (isMounted(path)) return 'mounted';
        removeEntry(directory, name);
        directory.unlink(`${dataFile}.new`);
        directory.unlink(dataFile);
        return 'removed';
      });
      if (outcome === 'mounted') return 'mounted';
      walking(this.root, elements.slice(0, -2), (parent) => parent.removeDirectory(elements.at(-2) as string));
      return 'removed';
    });
  }
}

/** An empty file or directory; a link itself. */
function removeEntry(directory: DirectoryHandle, name: string): void {
  const found = directory.look(name);
  if (found === null) return;
  if (found.isDirectory()) directory.removeDirectory(name);
  else if (found.size === 0n || found.isSymbolicLink()) directory.unlink(name);
  else throw new FileRefusal('failed-precondition', `${directory.where()}/${name} is a file with something in it`);
}

function write(directory: DirectoryHandle, data: string): void {
  const next = `${dataFile}.new`;
  directory.unlink(next);
  const fd = openSync(directory.at(next), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, fileMode);
  try {
    named(directory.at(next), () => writeSync(fd, data));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  directory.rename(next, dataFile);
}

function read(directory: DirectoryHandle): string | null {
  try {
    const fd = openSync(directory.at(dataFile), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const status = fstatSync(fd);
      if (!status.isFile() || status.size > dataBytesMax)
        throw new FileRefusal('failed-precondition', `${directory.where()}/${dataFile} is no file of at most ${dataBytesMax} bytes`);
      return readFileSync(fd, 'utf8');
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (errnoName(error) === 'ENOENT') return null;
    throw error;
  }
}

/** null if absent or unreadable. */
function readable(directory: DirectoryHandle): string | null {
  try {
    return read(directory);
  } catch {
    return null;
  }
}

function isMounted(path: string): boolean {
  return parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).some(({ mountPoint }) => mountPoint === path || mountPoint.startsWith(`${path}/`));
}

function elementsOf(place: VolumePlace): readonly string[] {
  const elements =
    place.kind === 'pod' ? ['pods', place.uid, 'volumes', place.plugin, place.volume, ...(place.inner === null ? [] : [place.inner])] : ['plugins', ...place.elements];
  // The directory around the place is removed with it, and is never one that others share.
  if (place.kind === 'pod' ? place.inner === null : place.elements.length < 3) throw new FileRefusal('invalid-argument', 'a CSI volume has a directory of its own');
  return elements.map(checkName);
}

function subjectOf(place: VolumePlace): string {
  return place.kind === 'pod' ? `${place.uid} ${place.plugin}/${place.volume}` : place.elements.join('/');
}
