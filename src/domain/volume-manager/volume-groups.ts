// Groups that own a pod's persistent volumes, from their annotations: its processes get them, in addition to the pod's own.
import type { VolumeManager } from './volume-manager-state.js';

const annotation = 'pv.beta.kubernetes.io/gid';

/** Sorted; ignores values that are not numbers. */
export function volumeGroups(manager: VolumeManager, uid: string): readonly number[] {
  const wanted = manager.pods.get(uid);
  if (wanted === undefined) return [];
  const own = new Set(wanted.pod.spec.securityContext?.supplementalGroups ?? []);
  const groups = new Set<number>();
  for (const name of wanted.names.values()) {
    const spec = manager.desired.get(name)?.pods.get(uid)?.spec;
    const text = spec?.kind === 'persistent' ? (spec.persistentVolume.metadata.annotations?.[annotation] ?? '') : '';
    if (/^\d{1,10}$/.test(text) && !own.has(Number(text))) groups.add(Number(text));
  }
  return [...groups].sort((a, b) => a - b);
}
