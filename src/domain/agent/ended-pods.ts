// Who is to clean up after a pod: nobody, the pod by itself, or a pass over everything.
//
// | what is handed to the workers                              | what follows                                                       |
// |------------------------------------------------------------|--------------------------------------------------------------------|
// | a pod that comes, changes, or shows another status         | nothing: its worker sees to it                                     |
// | the removal of a pod whose worker is done with it          | what is kept for it goes at the end of the step, then its directory |
// | any other removal; a pod that is to go and has no worker;  | a pass                                                             |
// | a worker that is to begin anew; a mirror of nothing        |                                                                    |
//
// Invariant: only what a worker has led to its end goes by itself, after a first pass; and a pass comes some time later all the same.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { DeliveryOp } from '../pod-sources/pod-config.js';
import { forget } from '../pod-workers/run-pod.js';
import { isMirrorPod, isStaticPod } from '../values/pod-kind.js';
import { podFullNameOf } from '../values/pod-references.js';
import type { AgentContext } from './agent-context.js';
import { removeOrphanDirectory } from './orphan-directories.js';
import { uidOf } from './pod-index.js';
import { forgetPod } from './pod-statuses.js';
import { removeProbes } from './probe-workers.js';
import { forgetStatusWrite } from './status-writes.js';
import { syncAddress } from './worker-effects.js';

/** Until a pass is made where nothing is known to be left: what it costs grows with all that is on the node. */
const safetyNetPeriod: Micros = 300_000_000;

/** A pod was handed to its worker. */
export function noteDelivered({ state: { housekeeping, workers, pods } }: AgentContext, op: DeliveryOp, pod: Pod): void {
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
export function noteRunEnded({ state: { housekeeping, workers, pods } }: AgentContext, uid: string): void {
  const record = workers.records.get(uid);
  if (record === undefined || record.restartRequested || !pods.pods.has(uid)) housekeeping.dirty = true;
}

/** Lets go of pods that have ended and that their source has no more. */
export function letEndedGo(context: AgentContext): void {
  const { housekeeping, workers, pods } = context.state;
  for (const uid of housekeeping.ended) {
    housekeeping.ended.delete(uid);
    const record = workers.records.get(uid);
    if (!workers.synced || record?.finished !== true || record.restartRequested || record.run !== null || pods.pods.has(uid)) {
      housekeeping.dirty = true;
      continue;
    }
    forget(workers, record);
    letGo(context, uid);
    forgetPod(context.state, uid);
    forgetStatusWrite(context, uid);
    removeOrphanDirectory(context, uid);
    housekeeping.passAt ??= context.turn.now + safetyNetPeriod;
  }
}

/** The pod has no worker any more: nothing more will happen to it in the runtime, and only now may its containers go. */
export function letGo(context: AgentContext, uid: string): void {
  context.state.collection.dirty = true;
  context.turn.end(syncAddress(uid));
  context.state.awaitingStatus.delete(uid);
  removeProbes(context, uid);
}
