// Whether a pod's wait for its volumes is useless because the node has no room for another volume of a driver: the controller's failed
// attachment shows it. Checked when a pod's run gives up, for drivers with a period for updating their volume count.
//
//   none -> the attachments are read -> a full one: the driver's count is updated, and then the pod is refused
//
// Invariant: the CSINode is up to date before the pod is refused, so that the scheduler doesn't send its successor here.

import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { answeredObject } from '../api-data/typed-object.js';
import type { ReplyFor } from '../kernel/machine.js';
import { microsPerSecond } from '../values/time.js';
import { csiAttachmentName, csiDriverName, csiPlugin } from '../volumes/csi-volume.js';
import type { VolumeContext } from './volume-kind.js';
import { type LimitLook, limitMachine, type VolumeManager } from './volume-manager-state.js';

/** gRPC's ResourceExhausted. */
const exhausted = 8;
const timeout = 30 * microsPerSecond;
const resource = { group: 'storage.k8s.io', version: 'v1', plural: 'volumeattachments' };

export const attachmentLimitReason = 'VolumeAttachmentLimitExceeded';

export type AttachmentLimit = 'none' | 'looking' | 'exceeded';

/** The caller asks again after changes of the pod's volumes, as long as the check is pending. */
export function attachmentLimitOf(manager: VolumeManager, uid: string, context: VolumeContext): AttachmentLimit {
  const look = manager.limitLooks.get(uid) ?? beginLook(manager, uid, context);
  if (look === null) return 'none';
  if (look.phase !== 'over') return 'looking';
  manager.limitLooks.delete(uid);
  return look.driver === null ? 'none' : 'exceeded';
}

function beginLook(manager: VolumeManager, uid: string, context: VolumeContext): LimitLook | null {
  const look: LimitLook = { phase: 'attachments', waiting: new Map(), driver: null };
  const address = { machine: limitMachine, key: uid };
  for (const name of new Set(manager.pods.get(uid)?.names.values())) {
    const driver = countedDriver(manager, name, context);
    if (driver === null) continue;
    const { attachment } = driver;
    // An answer that an earlier look did not wait for is as good.
    look.waiting.set(attachment, driver.name);
    if (!context.turn.inFlight(address, attachment)) {
      context.turn.ask('apiReader.get', address, attachment, { client: 'main', resource, namespace: null, name: attachment, resourceVersion: null }, timeout);
    }
  }
  if (look.waiting.size === 0) return null;
  manager.limitLooks.set(uid, look);
  return look;
}

/** The driver of a volume that isn't attached yet, if its count is read periodically; null: none. */
function countedDriver(manager: VolumeManager, volumeName: string, { csi, nodeName }: VolumeContext): { readonly name: string; readonly attachment: string } | null {
  const desired = manager.desired.get(volumeName);
  const [mount] = desired?.pods.values() ?? [];
  if (mount?.spec.kind !== 'persistent' || desired?.plugin !== csiPlugin || !desired.attachable || manager.actual.get(volumeName)?.attached === 'yes') return null;
  const driver = csiDriverName(mount.spec);
  if (!driver.ok || csi.driverObject(driver.value).object?.spec.nodeAllocatableUpdatePeriodSeconds === undefined) return null;
  const handle = mount.spec.persistentVolume.spec.csi?.volumeHandle ?? '';
  return { name: driver.value, attachment: csiAttachmentName(handle, driver.value, nodeName) };
}

export function limitReplied(manager: VolumeManager, uid: string, { slot, outcome }: ReplyFor<AgentOperations, 'apiReader.get'>, context: VolumeContext): void {
  const look = manager.limitLooks.get(uid);
  const driver = look?.waiting.get(slot);
  if (look === undefined || driver === undefined) return;
  look.waiting.delete(slot);
  const attachment = answeredObject('volumeattachments', outcome);
  if (attachment?.status?.attached !== true && attachment?.status?.attachError?.errorCode === exhausted) look.driver ??= driver;
  if (look.waiting.size > 0) return;
  look.phase = look.driver !== null && context.csi.updateAllocatable(look.driver) ? 'updating' : 'over';
  if (look.phase === 'over') context.volumesChanged(uid);
}

/** The CSINode has the driver's current count, or can't have it. */
export function allocatableUpdated(manager: VolumeManager, driver: string, context: VolumeContext): void {
  for (const [uid, look] of manager.limitLooks) {
    if (look.phase !== 'updating' || look.driver !== driver) continue;
    look.phase = 'over';
    context.volumesChanged(uid);
  }
}
