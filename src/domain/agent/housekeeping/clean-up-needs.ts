// Decides whether a removed pod needs cleanup: none, of the pod alone, or a complete pass.
//
// | delivered to the workers                                   | cleanup                                                           |
// |------------------------------------------------------------|-------------------------------------------------------------------|
// | a pod that is added, changed, or shows another status      | none: its worker handles it                                       |
// | the removal of a pod whose worker is done with it          | its state at the end of the step, then its directory              |
// | any other removal; a deleted pod without a worker;         | a pass                                                            |
// | a worker that restarts; a mirror without a static pod      |                                                                   |
//
// Invariant: in case of doubt a pass is requested.
import type { Pod } from '../../../ports/model/pod.js';
import type { DeliveryOp } from '../../pod-sources/pod-config.js';
import { isMirrorPod, isStaticPod } from '../../values/pod-kind.js';
import { podFullNameOf } from '../../values/pod-references.js';
import type { AgentContext } from '../agent-context.js';
import { noteNodeCgroups } from '../cgroups/node-cgroups.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { noteAlignmentChange } from '../resource-managers/cpu-reconcile.js';
import { asHousekeeping } from './slice.js';

/** A pod was handed to its worker. */
export function noteDelivered(context: AgentContext, op: DeliveryOp, pod: Pod): void {
  const { state } = asHousekeeping(context);
  const { housekeeping, workers, pods } = state;
  noteNodeCgroups(state, uidOf(pod));
  if (isMirrorPod(pod)) {
    if (op === 'REMOVE' || !pods.podsByFullName.has(podFullNameOf(pod))) housekeeping.dirty = true;
    return;
  }
  const record = workers.records.get(uidOf(pod));
  if (op !== 'REMOVE') {
    if (record === undefined ? pod.metadata.deletionTimestamp !== undefined : record.restartRequested) housekeeping.dirty = true;
  } else if (record?.finished === true && !isStaticPod(pod)) housekeeping.ended.add(record.uid);
  else housekeeping.dirty = true;
}

/** The worker has ended a state of the pod. */
export function noteRunEnded(context: AgentContext, uid: string): void {
  const { state } = asHousekeeping(context);
  const { housekeeping, workers, pods } = state;
  noteAlignmentChange(state);
  noteNodeCgroups(state, uid);
  const record = workers.records.get(uid);
  if (record === undefined || record.restartRequested || !pods.pods.has(uid)) housekeeping.dirty = true;
}
