// The volumes in a pod's directory, by their links or their directories alone: a volume may be a mount of a dead server, and is never entered.
// Only a CSI volume has a directory of the kubelet's own around its mount, and in it the file that identifies it.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { LeftVolume } from '../../ports/outbound/pod-volumes.js';
import { type DirectoryHandle, walking } from './directory-handle.js';

const csiPlugin = 'kubernetes.io~csi';
const dataFile = 'vol_data.json';
const dataBytesMax = 64 * 1024;

const deviceData = ['plugins', 'kubernetes.io', 'csi', 'volumeDevices'];

/** @param root the kubelet's */
export function leftVolumes(root: DirectoryHandle, uid: string): readonly LeftVolume[] {
  const devices = walking(root, ['pods', uid, 'volumeDevices'], (plugins) =>
    plugins.directoryNames().flatMap((plugin) => walking(plugins, [plugin], (inside) => linksOf(root, plugin, inside)) ?? []),
  );
  return [...(walking(root, ['pods', uid, 'volumes'], mountedOnes) ?? []), ...(devices ?? [])];
}

function linksOf(root: DirectoryHandle, plugin: string, inside: DirectoryHandle): LeftVolume[] {
  const names = inside.entries().flatMap((entry) => (entry.isSymbolicLink() && !entry.name.startsWith('..') ? [entry.name] : []));
  return names.sort().map((volume) => ({ plugin, volume, isDevice: true, data: plugin === csiPlugin ? walking(root, [...deviceData, volume, 'data'], dataIn) : null }));
}

function mountedOnes(volumes: DirectoryHandle): readonly LeftVolume[] {
  return volumes.directoryNames().flatMap((plugin) => walking(volumes, [plugin], (inside) => volumesOf(plugin, inside)) ?? []);
}

function volumesOf(plugin: string, inside: DirectoryHandle): LeftVolume[] {
  return inside.directoryNames().map((volume) => ({ plugin, volume, isDevice: false, data: plugin === csiPlugin ? walking(inside, [volume], dataIn) : null }));
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
