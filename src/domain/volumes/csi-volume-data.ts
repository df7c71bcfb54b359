// vol_data.json: the data that a restarted kubelet needs for a CSI volume that it finds on disk.
// Invariant: it is written before the driver is called and removed only when the volume is certainly unmounted; reading needs no API.
import type { PersistentVolume } from '../../ports/model/storage.js';
import type { Volume } from '../../ports/model/volume.js';
import { canonicalJson } from '../kernel/canonical.js';
import { goJsonProblem } from '../values/go-json.js';
import { csiDriverName, csiPlugin } from './csi-volume.js';
import { specName, type VolumeSpec } from './volume-spec.js';

/** Beside a pod's mount. */
export interface CsiVolumeData {
  readonly specVolID: string;
  readonly volumeHandle: string;
  readonly driverName: string;
  readonly nodeName: string;
  /** Raw block volumes are persistent, and lack the field. */
  readonly volumeLifecycleMode?: 'Persistent' | 'Ephemeral';
  readonly attachmentID: string;
  readonly seLinuxMountContext?: string;
}

/** Beside a staging directory. */
export interface CsiStagingData {
  readonly volumeHandle: string;
  readonly driverName: string;
  readonly seLinuxMountContext?: string;
}

export interface ReconstructedCsiVolume {
  readonly spec: VolumeSpec;
  readonly seLinuxMountContext: string;
}

export type CsiReconstruction = { readonly ok: true; readonly volume: ReconstructedCsiVolume } | { readonly ok: false; readonly message: string };

/** Why a data file doesn't say whose volume it is; null: it does. @param name of the volume, for messages */
export function problemOfCsiData(text: string, name: string): string | null {
  const read = reconstructCsiVolume(text, name);
  if (!read.ok) return read.message;
  const { spec } = read.volume;
  const driver = csiDriverName(spec);
  return driver.ok && driver.value !== '' && specName(spec) !== '' ? null : `${csiPlugin}: the data file of ${name} names no driver or no volume`;
}

export function csiDataText(data: CsiVolumeData | CsiStagingData): string {
  return `${canonicalJson(data)}\n`;
}

/** The volume of a data file. @param text null: no file @param directory of the file, for messages */
export function reconstructCsiVolume(text: string | null, directory: string, volumeMode: 'Filesystem' | 'Block' = 'Filesystem'): CsiReconstruction {
  const failed = (cause: string): CsiReconstruction => {
    return { ok: false, message: `${csiPlugin}: plugin.ConstructVolumeSpec failed loading volume data using [${directory}]: ${csiPlugin}: ${cause}` };
  };
  const path = `${directory}/vol_data.json`;
  if (text === null) return failed(`failed to open volume data file [${path}]: open ${path}: no such file or directory`);
  const problem = goJsonProblem(text);
  const data: unknown = problem === null ? JSON.parse(text) : null;
  const detail = problem ?? problemOfData(data);
  if (detail !== null) return failed(`failed to parse volume data file [${path}]: ${detail}`);
  const field = (name: keyof CsiVolumeData): string => (data as Partial<CsiVolumeData> | null)?.[name] ?? '';
  const name = field('specVolID');
  const driver = field('driverName');
  const inline: Volume = { name, csi: { driver } };
  const persistentVolume: PersistentVolume = { metadata: { name }, spec: { csi: { driver, volumeHandle: field('volumeHandle') }, volumeMode } };
  const isInline = field('volumeLifecycleMode') === 'Ephemeral';
  const spec: VolumeSpec = isInline ? { kind: 'inline', volume: inline } : { kind: 'persistent', persistentVolume, readOnly: false };
  return { ok: true, volume: { spec, seLinuxMountContext: field('seLinuxMountContext') } };
}

/** An object of texts; null means empty, as everywhere in JSON. */
function problemOfData(data: unknown): string | null {
  if (data === null) return null;
  if (typeof data !== 'object' || Array.isArray(data)) return 'not an object';
  return Object.values(data).every((value) => typeof value === 'string' || value === null) ? null : 'not a text';
}
