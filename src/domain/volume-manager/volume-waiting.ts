// The volume state for waiting runs: a pod that starts, and one whose containers are dead.
import type { Micros } from '../../ports/micros.js';
import type { BlockVolume } from '../containers/block-devices.js';
import type { MountedVolume } from '../containers/mounts.js';
import type { View } from '../kernel/view.js';
import { derived } from '../values/derived.js';
import { goList } from '../values/go-text.js';
import { byCodeUnits } from '../values/text-order.js';
import { usedVolumes } from '../volumes/node-volumes.js';
import { isBlockVolume, specName } from '../volumes/volume-spec.js';
import { kindOf } from './volume-kinds.js';
import type { PodVolumes, VolumeManager } from './volume-manager-state.js';

/** How long either waits before it gives up for now (2 min 3 s). */
export const volumePatience: Micros = 123_000_000;
/** The reference's maximum of different errors of a pod. */
const reportedErrorsMax = 11;
const timedOut = 'context deadline exceeded';

export type VolumesState =
  | { readonly kind: 'mounted' }
  | { readonly kind: 'waiting' }
  /** `told`: record an event; a single volume's failure already has one. */
  | { readonly kind: 'failed'; readonly message: string; readonly hasEvents: boolean };

/** `forgotten`: the last caller no longer needs it; it must be requested again. */
export type ReleaseState = VolumesState | { readonly kind: 'forgotten' };

const expectedNames = derived((pod: PodVolumes['pod']) => usedVolumes(pod).map(({ name }) => name));

/** How far the volumes of a wanted pod are. @param waited since when they are waited for */
export function volumesState(manager: VolumeManager, uid: string, waited: Micros): VolumesState {
  const wanted = manager.pods.get(uid);
  if (wanted === undefined) return waited < volumePatience ? { kind: 'waiting' } : { kind: 'failed', message: `the volumes are not desired: ${timedOut}`, hasEvents: false };
  const expected = expectedNames(wanted.pod);
  const unmounted = expected.filter((name) => !isMounted(manager, wanted, name));
  if (unmounted.length === 0) return { kind: 'mounted' };
  const hasErrors = wanted.errors.size > 0 && wanted.resolving.size === 0;
  if (!hasErrors && waited < volumePatience) return { kind: 'waiting' };
  const cause = hasErrors ? [...new Set(wanted.errors.values())].slice(0, reportedErrorsMax).sort(byCodeUnits).join('; ') : timedOut;
  const unattached = expected.filter((name) => isUnattached(manager, wanted, name));
  const unprocessed = expected.filter((name) => !wanted.names.has(name));
  const message = `unmounted volumes=${list(unmounted)}, unattached volumes=${list(unattached)}, failed to process volumes=${list(unprocessed)}: ${cause}`;
  return { kind: 'failed', message, hasEvents: hasErrors };
}

/** How far the volumes of a pod that has ended are. */
export function releaseState(manager: View<VolumeManager>, uid: string, waited: Micros): ReleaseState {
  const release = manager.releases.get(uid);
  if (release === undefined) return { kind: 'forgotten' };
  if (release.phase === 'over') {
    return release.failures.length === 0 ? { kind: 'mounted' } : { kind: 'failed', message: `mounted volumes are left: ${release.failures.join('; ')}`, hasEvents: false };
  }
  if (waited < volumePatience) return { kind: 'waiting' };
  const left = [...(manager.held.get(uid) ?? [])].map((name) => release.names.get(name) ?? nameOnDisk(manager, name, uid));
  return { kind: 'failed', message: `mounted volumes=${list(left)}: ${timedOut}`, hasEvents: false };
}

/** The pod's volumes for its containers, by their names in the pod; only mounted ones. */
export function mountedVolumesOf(manager: VolumeManager, uid: string, rootDirectory: string): Readonly<Record<string, MountedVolume>> {
  const mounted: [string, MountedVolume][] = [];
  const wanted = manager.pods.get(uid);
  for (const [volumeName, name] of wanted?.names ?? []) {
    const actual = manager.actual.get(name);
    const mount = actual?.pods.get(uid);
    if (actual === undefined || mount?.state !== 'mounted' || isBlockVolume(mount.spec)) continue;
    const view = kindOf(actual.plugin)?.view(mount.spec, uid, rootDirectory) ?? null;
    if (view !== null) mounted.push([volumeName, withLabels(view, actual.label ?? '', mount.hasLabels)]);
  }
  return Object.fromEntries(mounted);
}

/** @param label the SELinux label that it is mounted with */
function withLabels(view: MountedVolume, label: string, hasLabels: boolean | null): MountedVolume {
  if (label !== '') return { alreadyLabeledByMountOption: true, ...view };
  return hasLabels === null ? view : { ...view, selinuxRelabel: hasLabels };
}

/** The pod's raw block volumes, by their names in the pod; only mapped ones. */
export function blockVolumesOf(manager: VolumeManager, uid: string, rootDirectory: string): Readonly<Record<string, BlockVolume>> {
  const mapped: [string, BlockVolume][] = [];
  for (const [volumeName, name] of manager.pods.get(uid)?.names ?? []) {
    const actual = manager.actual.get(name);
    const mount = actual?.pods.get(uid);
    if (actual === undefined || mount?.state !== 'mounted') continue;
    const device = kindOf(actual.plugin)?.device?.(mount.spec, uid, rootDirectory) ?? null;
    if (device !== null) mapped.push([volumeName, device]);
  }
  return Object.fromEntries(mapped);
}

/** Names of attachable volumes that are desired or present; null: the present ones are unknown. */
export function volumesInUse(manager: View<VolumeManager>): readonly string[] | null {
  if (manager.survey !== 'over') return null;
  const wanted = [...manager.desired.values()].flatMap(({ name, attachable }) => (attachable ? [name] : []));
  const here = [...manager.actual.values()].flatMap(({ name, attachable }) => (attachable ? [name] : []));
  return [...new Set([...wanted, ...here])].sort(byCodeUnits);
}

/** Of a volume that its pod is no longer known to have. */
function nameOnDisk(manager: View<VolumeManager>, name: string, uid: string): string {
  const spec = manager.actual.get(name)?.pods.get(uid)?.spec;
  return spec === undefined ? name : specName(spec);
}

function isMounted(manager: VolumeManager, wanted: PodVolumes, volumeName: string): boolean {
  const name = wanted.names.get(volumeName);
  return name !== undefined && manager.actual.get(name)?.pods.get(wanted.uid)?.state === 'mounted';
}

function isUnattached(manager: VolumeManager, wanted: PodVolumes, volumeName: string): boolean {
  const name = wanted.names.get(volumeName);
  return name !== undefined && manager.desired.get(name)?.attachable === true && manager.actual.get(name)?.attached !== 'yes';
}

function list(names: readonly string[]): string {
  return goList([...names].sort(byCodeUnits));
}
