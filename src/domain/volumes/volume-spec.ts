// A volume as plugins see it: one of the pod's own, or a persistent volume bound to a claim.
import type { PersistentVolume } from '../../ports/model/storage.js';
import type { Volume } from '../../ports/model/volume.js';

export type VolumeSpec =
  /** `readOnly` is set by the mounter; pods don't set it for their own volumes. */
  | { readonly kind: 'inline'; readonly volume: Volume; readonly readOnly?: boolean }
  /** `readOnly` is the claim's flag in the pod. */
  | { readonly kind: 'persistent'; readonly persistentVolume: PersistentVolume; readonly readOnly: boolean };

/** The name of its directories: the pod's volume name, or the persistent volume's. */
export function specName(spec: VolumeSpec): string {
  return spec.kind === 'inline' ? spec.volume.name : spec.persistentVolume.metadata.name;
}

/** Containers get its device, not a file system. */
export function isBlockVolume(spec: VolumeSpec): boolean {
  return spec.kind === 'persistent' && spec.persistentVolume.spec.volumeMode === 'Block';
}

/** Names of volumes and plugins are file names with `/` as `~`. */
export function escapeName(name: string): string {
  return name.replaceAll('/', '~');
}

export function unescapeName(name: string): string {
  return name.replaceAll('~', '/');
}
