// Compares a volume's desired and actual state, and decides its next operation.
//
// | state                                                    | next                                             |
// |----------------------------------------------------------|--------------------------------------------------|
// | an operation in progress                                 | wait for its end                                 |
// | mounted or uncertain, for a pod that has ended           | unmount                                          |
// | wanted; mounted with another SELinux label for others   | nothing: it is unmounted completely first        |
// | wanted; attachable, and not attached by the Node         | nothing: wait for the Node's next change         |
// | wanted; not mounted, uncertain, or due for a remount     | mount                                            |
// | mounted, and larger since                                | expand                                           |
// | no pod has it, or wants it so; its device may be mounted     | unmount the device                               |
// | no pod wants it or has it, no device                     | it is forgotten                                  |
//
// Invariants: unmounts come before mounts, and both before devices; a failed operation is retried only when its back-off has passed.
import type { Micros } from '../../ports/micros.js';
import { assert } from '../kernel/assert.js';
import { byCodeUnits } from '../values/text-order.js';
import { expansionOf, volumeBytes } from '../volumes/volume-expansion.js';
import { backoffKey } from './volume-backoff.js';
import type { VolumeContext } from './volume-kind.js';
import { kindOf } from './volume-kinds.js';
import { forgetOtherLabel, hasOtherLabel, reportOtherLabel } from './volume-labels.js';
import { type ActualVolume, type DesiredVolume, type VolumeManager, type VolumeOperationKind, volumeAddressOf } from './volume-manager-state.js';
import { beginOperation } from './volume-operations.js';

interface Next {
  readonly volumeName: string;
  readonly kind: VolumeOperationKind;
  readonly uid: string;
}

const ranks: Readonly<Record<VolumeOperationKind, number>> = { unmount: 0, mount: 1, expand: 2, unmountDevice: 3 };

/** An operation that ends at once leads to a few others; more is two that undo each other, and the agent would hang without a word. */
const roundsMax = 1_000;

/** Reconciles all changed volumes. Immediate results may lead to more changes. */
export function reconcileVolumes(manager: VolumeManager, context: VolumeContext): void {
  for (let rounds = 1; manager.dirty.size > 0; rounds++) {
    assert(rounds <= roundsMax, 'volumes come to rest', [...manager.dirty].join(', '));
    const names = [...manager.dirty].sort(byCodeUnits);
    manager.dirty.clear();
    const next = names.flatMap((name) => nextOperation(manager, name, context) ?? []);
    next.sort((a, b) => ranks[a.kind] - ranks[b.kind] || byCodeUnits(a.volumeName, b.volumeName));
    for (const { volumeName, kind, uid } of next) context.forPod(uid, () => beginOperation(manager, volumeName, kind, uid, context));
  }
}

/** Null: nothing is to be done now. */
function nextOperation(manager: VolumeManager, name: string, context: VolumeContext): Next | null {
  const actual = manager.actual.get(name);
  const desired = manager.desired.get(name);
  const isBlocked = desired !== undefined && hasOtherLabel(actual, desired, context);
  if (isBlocked) reportOtherLabel(manager, desired, context);
  if (manager.operations.has(name)) return null;
  const times = new Times(manager, name, context.turn.now);
  const uid = times.first('unmount', unmounts(manager, actual, desired)) ?? null;
  if (uid !== null) return { volumeName: name, kind: 'unmount', uid };
  if (!isBlocked && desired !== undefined && desired.label !== null && isAttached(manager, desired, context)) {
    forgetOtherLabel(manager, desired, context);
    const mount = times.first('mount', mounts(manager.actual.get(name), desired));
    if (mount !== null) return { volumeName: name, kind: 'mount', uid: mount };
    const grown = times.first('expand', expansions(manager.actual.get(name), desired));
    if (grown !== null) return { volumeName: name, kind: 'expand', uid: grown };
  }
  if (actual !== undefined && actual.pods.size === 0 && (desired === undefined || isBlocked)) {
    if (actual.device === 'none') isBlocked ? unlabelled(manager, actual) : forget(manager, name, context);
    else if (times.first('unmountDevice', ['']) !== null) return { volumeName: name, kind: 'unmountDevice', uid: '' };
  }
  if (times.until !== null) context.turn.wakeAt(volumeAddressOf(name), times.until);
  return null;
}

/** It is completely unmounted: the pods that want it determine its label. */
function unlabelled({ dirty }: VolumeManager, actual: ActualVolume): void {
  actual.label = null;
  dirty.add(actual.name);
}

function forget(manager: VolumeManager, name: string, context: VolumeContext): void {
  manager.actual.delete(name);
  for (const key of [...manager.backoffs.keys()]) if (key === name || key.startsWith(`${name} `)) manager.backoffs.delete(key);
  context.turn.end(volumeAddressOf(name));
}

function unmounts(manager: VolumeManager, actual: ActualVolume | undefined, desired: DesiredVolume | undefined): string[] {
  const uids = [...(actual?.pods.keys() ?? [])];
  return uids.filter((uid) => desired?.pods.has(uid) !== true && manager.releases.get(uid)?.phase === 'unmounting').sort(byCodeUnits);
}

function mounts(actual: ActualVolume | undefined, desired: DesiredVolume): string[] {
  const uids = [...desired.pods.keys()];
  return uids
    .filter((uid) => {
      const mount = actual?.pods.get(uid);
      return mount === undefined || mount.state !== 'mounted' || mount.remountRequired;
    })
    .sort(byCodeUnits);
}

/** Expands a mounted volume that has grown, for the first pod. */
function expansions(actual: ActualVolume | undefined, { plugin, pods }: DesiredVolume): string[] {
  const size = actual?.size ?? null;
  if (actual === undefined || typeof size !== 'number' || kindOf(plugin)?.expand === undefined) return [];
  const uids = [...pods.values()].flatMap(({ uid, spec, claim }) => {
    if (claim === null || (spec.kind === 'persistent' && spec.readOnly) || actual.pods.get(uid)?.state !== 'mounted') return [];
    return size < (volumeBytes(spec) ?? 0) && expansionOf(spec, claim) !== null ? [uid] : [];
  });
  return uids.sort(byCodeUnits).slice(0, 1);
}

/** Whether the volume is attached to the node; from then on it has an actual state. */
function isAttached(manager: VolumeManager, desired: DesiredVolume, { node }: VolumeContext): boolean {
  const { name, plugin, attachable } = desired;
  const known = manager.actual.get(name);
  if (known?.attached === 'yes') return true;
  let devicePath = '';
  if (attachable) {
    // Before the Node reports the volume as in use, the controller could detach it during the mount.
    if (node?.status?.volumesInUse?.includes(name) !== true) return false;
    const attached = node.status.volumesAttached?.find((volume) => volume.name === name);
    if (attached === undefined) return false;
    devicePath = attached.devicePath;
  }
  if (known !== undefined) {
    known.attached = 'yes';
    known.attachable = attachable;
    if (known.devicePath === '') known.devicePath = devicePath;
    return true;
  }
  const [first] = desired.pods.values();
  if (first === undefined) return false;
  manager.actual.set(name, { name, plugin, spec: first.spec, attachable, attached: 'yes', devicePath, device: 'none', label: null, size: null, pods: new Map() });
  return true;
}

/** Which of several operations may be tried now, and when the next one may. */
class Times {
  until: Micros | null = null;

  constructor(
    private readonly manager: VolumeManager,
    private readonly name: string,
    private readonly now: Micros,
  ) {}

  first(kind: VolumeOperationKind, uids: readonly string[]): string | null {
    for (const uid of uids) {
      const backoff = this.manager.backoffs.get(backoffKey(this.name, kind, uid));
      // The desired operation differs from the failed one: it starts without back-off.
      if (backoff === undefined || backoff.kind !== kind || backoff.retryAt <= this.now) return uid;
      if (this.until === null || backoff.retryAt < this.until) this.until = backoff.retryAt;
    }
    return null;
  }
}
