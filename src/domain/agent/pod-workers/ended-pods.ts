// Forgets terminated pods that their source no longer has, each by itself, without inspecting others.
// Invariant: applies only to pods that a worker has terminated, and after a first pass; a complete pass follows later anyway.
import type { Micros } from '../../../ports/micros.js';
import { forget } from '../../pod-workers/run-pod.js';
import type { AgentContext } from '../agent-context.js';
import { noteNodeCgroups, podCgroupMissing } from '../cgroups/node-cgroups.js';
import { requestCollection } from '../container-gc/requests.js';
import { removeOrphanDirectory } from '../housekeeping/orphan-directories.js';
import { planSafetyNet, requestCleanUp, takeEnded } from '../housekeeping/requests.js';
import { removeProbes } from '../probe-manager/probe-workers.js';
import { forgetStatusWrite } from '../status-manager/status-writes.js';
import { forgetPod } from './forgotten-pods.js';
import { asPodWorkers, type PodWorkersContext } from './slice.js';
import { syncAddress } from './worker-effects.js';

/** The interval of passes without known remains: their cost grows with everything on the node. */
const safetyNetPeriod: Micros = 300_000_000;

/** At the end of a step. */
export function forgetFinishedPods(context: PodWorkersContext): void {
  const { housekeeping, workers, pods } = context.state;
  for (const uid of housekeeping.ended) {
    takeEnded(context.state, uid);
    const record = workers.records.get(uid);
    if (!workers.synced || record?.finished !== true || record.restartRequested || record.run !== null || pods.pods.has(uid)) {
      requestCleanUp(context.state);
      continue;
    }
    context.forPod(uid, () => {
      forget(workers, record);
      forgetFinishedPod(context, uid);
      forgetPod(context.state, uid);
      forgetStatusWrite(context, uid);
      removeOrphanDirectory(context, uid);
    });
    planSafetyNet(context.state, context.turn.now + safetyNetPeriod);
  }
}

/** The pod has no worker any more: nothing more will happen to it in the runtime, and only now may its containers go. */
export function forgetFinishedPod(caller: AgentContext, uid: string): void {
  const context = asPodWorkers(caller);
  requestCollection(context.state);
  podCgroupMissing(context, uid);
  noteNodeCgroups(context.state, uid);
  context.turn.end(syncAddress(uid));
  context.state.awaitingStatus.delete(uid);
  removeProbes(context, uid);
}
