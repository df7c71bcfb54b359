// The volumes that are in a pod's directory, by their directories alone: a volume may be a mount of a server that is dead, and is never entered.
// Only a CSI volume has a directory of the kubelet's own around what is mounted, and in it the file that says whose it is.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { LeftVolume } from '../../ports/outbound/pod-volumes.js';
import { type DirectoryHandle, walking } from './directory-handle.js';

const csiPlugin = 'kubernetes.io~csi';
const dataFile = 'vol_data.json';
const dataBytesMax = 64 * 1024;

/** @param volumes a pod's directory of that name */
export function leftVolumes(volumes: DirectoryHandle): readonly LeftVolume[] {
  return volumes.directoryNames().flatMap((plugin) => walking(volumes, [plugin], (inside) => volumesOf(plugin, inside)) ?? []);
}

function volumesOf(plugin: string, inside: DirectoryHandle): LeftVolume[] {
  return inside.directoryNames().map((volume) => ({ plugin, volume, data: plugin === csiPlugin ? walking(inside, [volume], dataIn) : null }));
}

function dataIn(directory: DirectoryHandle): string | null {
  try {
    const fd = openSync(directory.at(dataFile), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const status = fstatSync(fd);
      return status.isFile() && status.size <= dataBytesMax ? readFileSync(fd, 'utf8') : null;
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
