// File systems in the stats summary: the node's, the images', and pods' writes outside of their volumes.
// Invariant: used amounts are added, capacity and free amounts are those of one file system.

import type { FilesystemNumbers, ImageFilesystem, RootFilesystem, Used } from '../../ports/model/node-measurements.js';
import type { ContainerStats, FsStats } from '../../ports/model/stats-summary.js';
import { freeSpace, inodesUsedOf } from '../values/filesystem-space.js';
import { formatRfc3339 } from '../values/time.js';

/** The root file system as the node's `fs`. */
export function rootFilesystemStats(root: RootFilesystem): FsStats {
  const { usedBytes } = root;
  return { time: formatRfc3339(root.time), ...freeSpace(root), ...(usedBytes === undefined ? {} : { usedBytes }), ...inodesUsedOf(root) };
}

/** Something on the root file system, such as logs. */
export function onRootFilesystem(root: RootFilesystem, used: Used): FsStats {
  return { time: formatRfc3339(root.time), ...freeSpace(root), ...used };
}

type Filesystems = Readonly<Record<string, FilesystemNumbers>>;

export type ImageFsResult = { readonly ok: true; readonly stats: FsStats } | { readonly ok: false; readonly error: string };

/** Of the first file system that the runtime reports, which images and writable layers share. */
export function imageFsStats(reported: readonly ImageFilesystem[], filesystems: Filesystems): ImageFsResult {
  const first = reported[0];
  if (first === undefined) return { ok: false, error: 'imageFs information is unavailable' };
  const { time, mountpoint, ...used } = first;
  const known = mountpoint === null || !Object.hasOwn(filesystems, mountpoint) ? undefined : filesystems[mountpoint];
  return { ok: true, stats: { time: formatRfc3339(time), ...(known === undefined ? {} : freeSpace(known)), ...used } };
}

export type ImageFsDevice = { readonly ok: true; readonly device: string; readonly isDedicated: boolean } | { readonly ok: false; readonly error: string };

/** The device of images, by the first known mount point; `isDedicated` if it isn't the root file system's. Paths can't show this: one may be mounted in the other. */
export function imageFsDevice(reported: readonly ImageFilesystem[], filesystems: Filesystems, rootDevice: string): ImageFsDevice {
  for (const { mountpoint } of reported) {
    const known = mountpoint === null || !Object.hasOwn(filesystems, mountpoint) ? undefined : filesystems[mountpoint];
    if (known !== undefined) return { ok: true, device: known.device, isDedicated: known.device !== rootDevice };
  }
  return { ok: false, error: 'imagefs device is not found' };
}

/** All that a pod writes to the node: writable layers, logs, its hosts file and local volumes. Its time is the newest of them. */
export function ephemeralStorage(root: RootFilesystem, containers: readonly ContainerStats[], volumes: readonly FsStats[], podFiles: readonly FsStats[]): FsStats {
  const parts = [...volumes, ...podFiles];
  for (const { rootfs, logs } of containers) {
    if (rootfs === undefined) continue;
    parts.push(rootfs);
    if (logs !== undefined) parts.push(logs);
  }
  let time = formatRfc3339(root.time);
  let usedBytes: number | null = null;
  let inodesUsed: number | null = null;
  for (const part of parts) {
    // RFC 3339 in whole seconds and UTC sorts as text.
    if (part.time != null && part.time > time) time = part.time;
    if (part.usedBytes !== undefined) usedBytes = (usedBytes ?? 0) + part.usedBytes;
    if (part.inodesUsed !== undefined) inodesUsed = (inodesUsed ?? 0) + part.inodesUsed;
  }
  return { time, ...freeSpace(root), ...(usedBytes === null ? {} : { usedBytes }), ...(inodesUsed === null ? {} : { inodesUsed }) };
}
