// Who is to clean up after a pod: nobody, the pod by itself, or a pass over everything.
//
// | what is handed to the workers                              | what follows                                                       |
// |------------------------------------------------------------|--------------------------------------------------------------------|
// | a pod that comes, changes, or shows another status         | nothing: its worker sees to it                                     |
// | the removal of a pod whose worker is done with it          | what is kept for it goes at the end of the step, then its directory |
// | any other removal; a pod that is to go and has no worker;  | a pass                                                             |
// | a worker that is to begin anew; a mirror of nothing        |                                                                    |
//
// Invariant: what is not sure to be nobody's business asks for a pass.
import type { Pod } from '../../ports/model/pod.js';
import type { DeliveryOp } from '../pod-sources/pod-config.js';
import { isMirrorPod, isStaticPod } from '../values/pod-kind.js';
import { podFullNameOf } from '../values/pod-references.js';
import type { AgentContext } from './agent-context.js';
import { noteAlignmentChange } from './cpu-reconcile.js';
import { noteNodeCgroups } from './node-cgroups.js';
import { uidOf } from './pod-index.js';

/** A pod was handed to its worker. */
export function noteDelivered({ state }: AgentContext, op: DeliveryOp, pod: Pod): void {
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
export function noteRunEnded({ state }: AgentContext, uid: string): void {
  const { housekeeping, workers, pods } = state;
  noteAlignmentChange(state);
  noteNodeCgroups(state, uid);
  const record = workers.records.get(uid);
  if (record === undefined || record.restartRequested || !pods.pods.has(uid)) housekeeping.dirty = true;
}
