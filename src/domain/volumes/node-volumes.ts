// Volumes that need only the node: emptyDir, hostPath, image, downwardAPI, and projected volumes of downwardAPI alone. Which a pod uses, how
// they are set up, and their paths for its containers.
// Invariant: a volume's path follows from the pod alone, so that a restarted agent finds an earlier one's volumes.
import type { ResourceList } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Volume } from '../../ports/model/volume.js';
import type { VolumeAddress, VolumeSetUp } from '../../ports/outbound/pod-volumes.js';
import { allLimited } from '../cgroups/pod-cgroup-config.js';
import type { MountedVolume } from '../containers/mounts.js';
import { assert } from '../kernel/assert.js';
import { podLimits } from '../qos/pod-resources.js';
import { podQosClass } from '../qos/qos-class.js';
import { goQuote } from '../values/go-text.js';
import { mustParseQuantity, parseQuantity, quantityValue } from '../values/quantity.js';
import { joinPath } from '../values/slash-paths.js';
import { byCodeUnits } from '../values/text-order.js';
import { apiDataSource } from './api-data-volume.js';
import type { Named } from './device-names.js';
import { fsGroupMode } from './volume-ownership.js';
import { volumePluginFor, volumeView } from './volume-plugins.js';
import { escapeName } from './volume-spec.js';

const everyonesMode = 0o777;
/** The default of a tmpfs: volumes in memory keep the kernel's mode, with the sticky bit. */
const tmpfsMode = 0o1777;
const wrapperPrefix = 'wrapped_';
const emptyDirDirectory = 'kubernetes.io~empty-dir';

/** Those that a container mounts, in the order of the spec; an unmounted volume delays no pod. */
export function usedVolumes(pod: Pod): readonly Volume[] {
  const { initContainers = [], containers, ephemeralContainers = [], volumes = [] } = pod.spec;
  const all = [...initContainers, ...containers, ...ephemeralContainers];
  const used = new Set(all.flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices].map(({ name }) => name)));
  return volumes.filter(({ name }) => used.has(name));
}

/** The volume's need that the node alone can't serve; null: the node can set it up. */
function beyondNode(volume: Volume): string | null {
  const kind = Object.keys(volume).find((key) => key !== 'name' && volume[key] !== undefined && volume[key] !== null) ?? 'no source';
  if (kind === 'emptyDir') {
    return null;
  }
  return kind === 'hostPath' || kind === 'image' || apiDataSource(volume) !== null ? null : kind;
}

/** By name, as containers see them. Leaves out volumes that the node alone can't serve. */
export function mountedVolumes(pod: Pod, rootDirectory: string): Readonly<Record<string, MountedVolume>> {
  const place = { rootDirectory, podUid: pod.metadata.uid ?? '', localPathType: null };
  const mounted: [string, MountedVolume][] = [];
  for (const volume of usedVolumes(pod)) {
    const spec = { kind: 'inline', volume } as const;
    const plugin = volumePluginFor(spec);
    const seen = plugin === null || beyondNode(volume) !== null ? null : volumeView(plugin, spec, place);
    if (seen?.ok !== true) continue;
    const { path, readOnly, managed, seLinuxRelabel } = seen.view;
    mounted.push([volume.name, { hostPath: path, readOnly, managed, selinuxRelabel: seLinuxRelabel }]);
  }
  return Object.fromEntries(mounted);
}

/** Of a volume with a directory of its own. */
export function volumeAddress(pod: Pod, volume: Volume): VolumeAddress {
  const plugin = volumePluginFor({ kind: 'inline', volume });
  assert(plugin !== null, 'a volume that is set up has a plugin');
  return volumeAddressFor(pod.metadata.uid ?? '', escapeName(plugin.name), volume.name);
}

/** @param plugin escaped, as in paths */
export function volumeAddressFor(uid: string, plugin: string, volume: string): VolumeAddress {
  return { uid, plugin, volume, marker: plugin === emptyDirDirectory ? volume : `${wrapperPrefix}${volume}` };
}

export type EmptyDirSetUp = { readonly ok: true; readonly setUp: VolumeSetUp } | { readonly ok: false; readonly message: string };

export function emptyDirSetUp(pod: Pod, volume: Volume, allocatable: ResourceList): EmptyDirSetUp {
  const gid = pod.spec.securityContext?.fsGroup ?? null;
  const { medium = '', sizeLimit = null } = volume.emptyDir ?? {};
  const made = medium === 'Memory' ? tmpfsMode : everyonesMode;
  const mode = gid === null ? made : fsGroupMode(made, 'directory', false);
  const base = { ...volumeAddress(pod, volume), mode, gid };
  if (medium === hugePagesMedium || medium.startsWith(`${hugePagesMedium}-`)) {
    const pageSize = hugePageSize(pod, medium);
    return pageSize.ok ? { ok: true, setUp: { ...base, tmpfs: null, hugePages: { pageSize: pageSize.value } } } : pageSize;
  }
  if (medium !== '' && medium !== 'Memory') return { ok: false, message: `unknown storage medium ${goQuote(medium)}` };
  const tmpfs = medium === 'Memory' ? { sizeBytes: memoryBytes(pod, sizeLimit, allocatable) } : null;
  return { ok: true, setUp: { ...base, tmpfs, hugePages: null } };
}

/** The directory of a volume that shows data of the API; only config maps are on disk. */
export function payloadSetUp(pod: Pod, volume: Volume, allocatable: ResourceList): VolumeSetUp {
  if (volume.configMap !== undefined) {
    const gid = pod.spec.securityContext?.fsGroup ?? null;
    return { ...volumeAddress(pod, volume), mode: gid === null ? everyonesMode : fsGroupMode(everyonesMode, 'directory', false), gid, tmpfs: null, hugePages: null };
  }
  return { ...volumeAddress(pod, volume), mode: tmpfsMode, gid: null, tmpfs: { sizeBytes: memoryBytes(pod, null, allocatable) }, hugePages: null };
}

/** The minimum of the node's allocatable memory, the limit of the pod's cgroup and the volume's size limit; 0: no known limit. */
function memoryBytes(pod: Pod, sizeLimit: string | null, allocatable: ResourceList): number {
  const candidates: bigint[] = [];
  if (allocatable.memory !== undefined) candidates.push(quantityValue(mustParseQuantity(allocatable.memory)));
  if (podQosClass(pod) !== 'BestEffort' && allLimited(pod, 'memory')) {
    const limit = podLimits(pod).get('memory');
    if (limit !== undefined) candidates.push(quantityValue(limit));
  }
  if (sizeLimit !== null) candidates.push(quantityValue(mustParseQuantity(sizeLimit)));
  return candidates.filter((bytes) => bytes > 0n).reduce((least, bytes) => (least === 0 || bytes < BigInt(least) ? Number(bytes) : least), 0);
}

const hugePagesMedium = 'HugePages';
const hugePagesPrefix = 'hugepages-';

/** The page size of the medium: the only one that the pod requests, or the named one among them. */
function hugePageSize({ spec: { resources, initContainers = [], containers } }: Pod, medium: string): Named {
  const named = medium === hugePagesMedium ? null : medium.slice(hugePagesMedium.length + 1);
  const requests = [resources?.requests, ...[...initContainers, ...containers].map((container) => container.resources?.requests)];
  const asked = requests.flatMap((list) => Object.keys(list ?? {}).flatMap((name) => (name.startsWith(hugePagesPrefix) ? [name.slice(hugePagesPrefix.length)] : [])));
  const same = (a: string, b: string): boolean => quantityValue(mustParseQuantity(a)) === quantityValue(mustParseQuantity(b));
  if (named !== null && !parseQuantity(named).ok) return { ok: false, message: `unknown storage medium ${goQuote(medium)}` };
  const [first] = named === null ? asked : asked.filter((size) => same(size, named));
  if (first === undefined) return { ok: false, message: `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages` };
  if (named === null && asked.some((size) => !same(size, first))) return { ok: false, message: `medium: ${medium} can't be used if container requests multiple huge page sizes` };
  return { ok: true, value: first };
}

/** A mount of a container that would lead above its root; null if none. */
export function mountPointAbove(pod: Pod): string | null {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const all = [...initContainers, ...containers, ...ephemeralContainers];
  return all.flatMap(({ volumeMounts = [] }) => volumeMounts).find(({ mountPath }) => mountPath.startsWith('../'))?.mountPath ?? null;
}

/** Directories that other mounts of the same containers need inside the volume, relative to it: it is read-only when the runtime would make them. */
export function nestedMountPoints(pod: Pod, volumeName: string): readonly string[] {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const nested = [...initContainers, ...containers, ...ephemeralContainers].flatMap(({ volumeMounts = [] }) => {
    const paths = volumeMounts.map(({ mountPath }) => joinPath('/', mountPath));
    return volumeMounts.flatMap(({ name, subPath = '', subPathExpr = '' }, i) => {
      if (name !== volumeName || subPath !== '' || subPathExpr !== '') return [];
      const below = paths.filter((path) => path.startsWith(`${paths[i]}/`));
      return below.filter((path) => !below.some((other) => path.startsWith(`${other}/`))).map((path) => path.slice((paths[i]?.length ?? 0) + 1));
    });
  });
  return [...new Set(nested)].sort(byCodeUnits);
}
