// What kinds have in common that mount something on a directory of the pod's own.
import type { Micros } from '../../../ports/micros.js';
import type { VolumePlace } from '../../../ports/outbound/volume-mounts.js';
import { escapeName, specName, type VolumeSpec } from '../../volumes/volume-spec.js';
import { mountOptionsOf } from '../mount-checks.js';
import { singleCommand, type VolumeProcedure } from '../volume-kind.js';

export function placeOf(plugin: string, uid: string, spec: VolumeSpec): VolumePlace {
  return { kind: 'pod', uid, plugin: escapeName(plugin), volume: specName(spec), inner: null };
}

/** @param forceAfter timeout before a forced unmount for an unresponsive server; null: never */
export function unmountOf(plugin: string, forceAfter: Micros | null): VolumeProcedure<never> {
  return singleCommand('volumeMounts.unmount', (scene) => scene.ask('volumeMounts.unmount', { place: placeOf(plugin, scene.uid, scene.spec), forceAfter }));
}

/** The persistent volume's options, and `ro` if the volume is read-only. */
export function optionsOf(spec: VolumeSpec, readOnly: boolean): readonly string[] {
  return [...(readOnly ? ['ro'] : []), ...mountOptionsOf(spec)];
}
