// Names and paths of CSI volumes. Drivers, the attach controller and a restarted kubelet rely on them.
// Invariant: a name depends only on the arguments, so that it is the same after any restart.

import { goQuote } from '../values/go-text.js';
import { hexOfBytes } from '../values/hex.js';
import { nodePluginDirectory, podVolumeDeviceDirectory, podVolumeDirectory } from '../values/pod-directories.js';
import { sha256 } from '../values/sha256.js';
import { joinPath, parentPath } from '../values/slash-paths.js';
import { utf8Encode } from '../values/utf8.js';
import type { Named } from './device-names.js';
import { escapeName, specName, type VolumeSpec } from './volume-spec.js';

export const csiPlugin = 'kubernetes.io/csi';
const escapedCsiPlugin = escapeName(csiPlugin);
const dataFileName = 'vol_data.json';
const noVolumeSource = 'volume source not found in volume.Spec';

/** Whether the volume is a CSI driver's. */
export function isCsiSource(spec: VolumeSpec): boolean {
  return csiDriverName(spec).ok;
}

/** The source's driver. */
export function csiDriverName(spec: VolumeSpec): Named {
  const source = spec.kind === 'inline' ? spec.volume.csi : spec.persistentVolume.spec.csi;
  return source === undefined ? { ok: false, message: noVolumeSource } : { ok: true, value: source.driver };
}

/** The driver's ID of the volume; null for a persistent volume that isn't CSI. An inline volume's ID comes from the pod and the volume name. */
export function csiVolumeHandle(spec: VolumeSpec, podUid: string): string | null {
  if (spec.kind === 'inline') return `csi-${sha256Text(podUid + specName(spec))}`;
  return spec.persistentVolume.spec.csi?.volumeHandle ?? null;
}

/** The name that the volume has on the node: one for all pods of a persistent volume, one a pod for an inline one. */
export function csiUniqueVolumeName(spec: VolumeSpec, podUid: string): Named {
  if (spec.kind === 'inline') return { ok: true, value: `${csiPlugin}/${podUid}-${specName(spec)}` };
  const { csi } = spec.persistentVolume.spec;
  if (csi !== undefined) return { ok: true, value: `${csiPlugin}/${csi.driver}^${csi.volumeHandle}` };
  const cause = `${csiPlugin}: plugin.GetVolumeName failed to extract volume source from spec: ${noVolumeSource}`;
  return { ok: false, message: `failed to GetVolumeName from volumePlugin for volumeSpec ${goQuote(specName(spec))} err=${cause}` };
}

/** Name of the VolumeAttachment that the attach controller makes. */
export function csiAttachmentName(volumeHandle: string, driver: string, nodeName: string): string {
  return `csi-${sha256Text(volumeHandle + driver + nodeName)}`;
}

/** The path that the driver publishes to, and that containers see. */
export function csiTargetPath(rootDirectory: string, podUid: string, spec: VolumeSpec): string {
  return joinPath(csiVolumeDirectory(rootDirectory, podUid, spec), 'mount');
}

export function csiVolumeDataFile(rootDirectory: string, podUid: string, spec: VolumeSpec): string {
  return joinPath(csiVolumeDirectory(rootDirectory, podUid, spec), dataFileName);
}

function csiVolumeDirectory(rootDirectory: string, podUid: string, spec: VolumeSpec): string {
  return podVolumeDirectory(rootDirectory, podUid, escapedCsiPlugin, escapeName(specName(spec)));
}

/** The path that the driver stages a persistent volume to, once for all pods of the node. */
export function csiDeviceMountPath(rootDirectory: string, spec: VolumeSpec): Named {
  const csi = spec.kind === 'persistent' ? spec.persistentVolume.spec.csi : undefined;
  if (csi === undefined) return { ok: false, message: noVolumeSource };
  if (csi.driver === '') return { ok: false, message: 'makeDeviceMountPath failed, csi source driver name is empty' };
  if (csi.volumeHandle === '') return { ok: false, message: 'makeDeviceMountPath failed, CSIPersistentVolumeSource volume handle is empty' };
  return { ok: true, value: joinPath(nodePluginDirectory(rootDirectory, csiPlugin), csi.driver, sha256Text(csi.volumeHandle), 'globalmount') };
}

/** Beside the staging directory. */
export function csiStagingDataFile(deviceMountPath: string): string {
  return joinPath(parentPath(deviceMountPath), dataFileName);
}

export interface CsiBlockPaths {
  readonly stagingPath: string;
  readonly publishPath: string;
  readonly globalMapPath: string;
  readonly dataDirectory: string;
  readonly podDeviceMapDirectory: string;
  readonly podDeviceLinkName: string;
}

/** Paths of a raw block volume. Staging, publishing and the link use the unescaped name, the map's directories the escaped one. */
export function csiBlockPaths(rootDirectory: string, podUid: string, spec: VolumeSpec): CsiBlockPaths {
  const name = specName(spec);
  const devices = joinPath(nodePluginDirectory(rootDirectory, csiPlugin), 'volumeDevices');
  return {
    stagingPath: joinPath(devices, 'staging', name),
    publishPath: joinPath(devices, 'publish', name, podUid),
    globalMapPath: joinPath(devices, escapeName(name), 'dev'),
    dataDirectory: joinPath(devices, escapeName(name), 'data'),
    podDeviceMapDirectory: podVolumeDeviceDirectory(rootDirectory, podUid, escapedCsiPlugin),
    podDeviceLinkName: name,
  };
}

function sha256Text(text: string): string {
  return hexOfBytes(sha256(utf8Encode(text)));
}
