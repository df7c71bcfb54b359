// What other parts request of the pod workers.
import type { Micros } from '../../../ports/micros.js';
import { collectExpiredBackoff } from '../../backoff/keyed-backoff.js';
import type { PodWorkerEffect } from '../../pod-workers/effects.js';
import { type KnownPod, syncKnownPods } from '../../pod-workers/known-pods.js';
import type { PodUpdate } from '../../pod-workers/pod-worker-record.js';
import { runUnwanted } from '../../pod-workers/run-pod.js';
import { updatePod } from '../../pod-workers/update-pod.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { asPodWorkers, podWorkersState } from './slice.js';

/** Workers of pods that are not wanted end, or are dropped if they have ended. Returns all workers that are left. */
export function syncWorkers(caller: AgentContext, wanted: ReadonlySet<string>, effects: PodWorkerEffect[]): Map<string, KnownPod> {
  const { state, turn } = asPodWorkers(caller);
  return syncKnownPods(state.workers, wanted, turn.now, effects, true);
}

/** Drops the back-offs of restarts that have expired. */
export function forgetCrashLoops(state: AgentView, now: Micros): void {
  collectExpiredBackoff(podWorkersState(state).crashLoop, now);
}

/** Has a pod ended of which only the runtime knows. */
export function endRunningPod(caller: AgentContext, update: PodUpdate, effects: PodWorkerEffect[]): void {
  const { state, turn } = asPodWorkers(caller);
  updatePod(state.workers, update, turn.now, () => true, effects);
}

/** The pod is in no index any more: its worker ends it, if it has one. */
export function syncUnwanted(caller: AgentContext, uid: string, effects: PodWorkerEffect[]): void {
  const { state, turn } = asPodWorkers(caller);
  runUnwanted(state.workers, uid, turn.now, effects);
}

/** Drops what is kept for the statuses of a pod that no part knows any more. */
export function forgetPodFailures(state: AgentView, uid: string): void {
  const { startFailures, reportedMissingFeatures } = podWorkersState(state);
  startFailures.delete(uid);
  reportedMissingFeatures.delete(uid);
}
