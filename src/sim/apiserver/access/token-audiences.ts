// For whom a pod's tokens may be: what its projected volumes and the drivers of its CSI volumes name.
import type { Pod } from '../../../ports/model/pod.js';
import { type ObjectStore, objectKey } from '../object-store.js';

interface CsiSource {
  readonly driver?: string;
}

/** '' is the apiserver itself. */
export function tokenAudiences(pod: Pod, store: ObjectStore): readonly string[] {
  const projected = (pod.spec.volumes ?? []).flatMap((volume) => volume.projected?.sources ?? []).flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []);
  return [...projected.map(({ audience }) => audience ?? ''), ...driversOf(pod, store).flatMap((driver) => audiencesOfDriver(driver, store))];
}

function audiencesOfDriver(driver: string, store: ObjectStore): readonly string[] {
  const spec = store.get('csidrivers.storage.k8s.io', objectKey(null, driver))?.spec as { readonly tokenRequests?: readonly { readonly audience?: string }[] } | undefined;
  return (spec?.tokenRequests ?? []).map(({ audience }) => audience ?? '');
}

function driversOf(pod: Pod, store: ObjectStore): readonly string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const inline = (volume.csi as CsiSource | undefined)?.driver;
    if (inline !== undefined) return [inline];
    const claim = volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`);
    if (claim === undefined) return [];
    const { volumeName = '' } = (store.get('persistentvolumeclaims', objectKey(pod.metadata.namespace, claim))?.spec ?? {}) as { readonly volumeName?: string };
    const driver = (store.get('persistentvolumes', objectKey(null, volumeName))?.spec as { readonly csi?: CsiSource } | undefined)?.csi?.driver;
    return driver === undefined ? [] : [driver];
  });
}
