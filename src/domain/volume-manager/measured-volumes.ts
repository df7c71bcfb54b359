// Which of a pod's volumes can be measured, and how. A pod's writes to the node's own disk in them count as its ephemeral storage.
//
// | plugin                                         | how                 | ephemeral                     |
// |------------------------------------------------|---------------------|-------------------------------|
// | emptyDir                                       | its tree            | unless it is kept in memory   |
// | configMap                                      | its tree            | yes                           |
// | secret, projected, downwardAPI                 | its tree            | no: they are in memory        |
// | local-volume, nfs                              | its file system     | no                            |
// | csi, file systems and raw devices              | its driver          | no                            |
// | host-path, image; raw devices of local volumes | not                 |                               |
import type { MeasuredVolume } from '../../ports/model/node-measurements.js';
import type { QuotaPlace } from '../../ports/outbound/project-quotas.js';
import type { NodeFacts } from '../containers/node-facts.js';
import { podVolumeDirectory } from '../values/pod-directories.js';
import { csiBlockPaths, csiDriverName, csiPlugin, csiTargetPath, csiVolumeHandle } from '../volumes/csi-volume.js';
import { hasProjectQuota, isOnDisk } from '../volumes/project-quota.js';
import { escapeName, isBlockVolume, specName, type VolumeSpec } from '../volumes/volume-spec.js';
import type { VolumeManager } from './volume-manager-state.js';

const trees: ReadonlySet<string> = new Set(['empty-dir', 'configmap', 'secret', 'projected', 'downward-api'].map((name) => `kubernetes.io/${name}`));
const fileSystems: ReadonlySet<string> = new Set(['kubernetes.io/local-volume', 'kubernetes.io/nfs']);

/** In the order of the pod's spec; only mounted volumes. */
export function measuredVolumes(manager: VolumeManager, uid: string, nodeFacts: Pick<NodeFacts, 'rootDirectory' | 'projectQuotas'>): readonly MeasuredVolume[] {
  const { rootDirectory } = nodeFacts;
  const wanted = manager.pods.get(uid);
  if (wanted === undefined) return [];
  return (wanted.pod.spec.volumes ?? []).flatMap((volume): MeasuredVolume[] => {
    const unique = wanted.names.get(volume.name);
    const actual = unique === undefined ? undefined : manager.actual.get(unique);
    const mount = actual?.pods.get(uid);
    if (actual === undefined || mount?.state !== 'mounted') return [];
    const claimName = volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral === undefined ? null : `${wanted.pod.metadata.name}-${volume.name}`);
    if (actual.plugin === csiPlugin) return ofDriver(volume.name, claimName, mount.spec, uid, rootDirectory);
    if (isBlockVolume(mount.spec)) return [];
    const how = trees.has(actual.plugin) ? 'tree' : fileSystems.has(actual.plugin) ? 'file-system' : null;
    if (how === null) return [];
    const place: QuotaPlace = { uid, plugin: escapeName(actual.plugin), volume: specName(mount.spec) };
    const path = podVolumeDirectory(rootDirectory, uid, place.plugin, place.volume);
    const quota = hasProjectQuota(wanted.pod, mount.spec, nodeFacts) ? place : null;
    return [{ name: volume.name, path, how, driver: null, isEphemeral: actual.plugin === 'kubernetes.io/configmap' || isOnDisk(mount.spec), quota, claimName }];
  });
}

function ofDriver(name: string, claimName: string | null, spec: VolumeSpec, uid: string, rootDirectory: string): MeasuredVolume[] {
  const [driver, volumeId] = [csiDriverName(spec), csiVolumeHandle(spec, uid)];
  if (!driver.ok || volumeId === null) return [];
  const path = isBlockVolume(spec) ? csiBlockPaths(rootDirectory, uid, spec).publishPath : csiTargetPath(rootDirectory, uid, spec);
  return [{ name, path, how: 'driver', driver: { name: driver.value, volumeId }, isEphemeral: false, quota: null, claimName }];
}
