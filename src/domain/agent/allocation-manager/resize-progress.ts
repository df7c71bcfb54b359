// The progress of an allocated resize: whether containers have the allocated resources, reported in a condition and at its end by an event.
import type { Pod } from '../../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';
import { conditionsOf, setConditions } from '../../allocation/allocation-state.js';
import { noResize, withInProgress } from '../../allocation/resize-conditions.js';
import { resizeMessage } from '../../allocation/resize-text.js';
import { decideResize, podLevelResourcesDiffer } from '../../pod-sync/container-resize.js';
import { resizeAction } from '../../pod-sync/resize-step.js';
import type { SyncRun } from '../../pod-sync/sync-run.js';
import type { PodWorkerEffect } from '../../pod-workers/effects.js';
import { isRestartableInit } from '../../status/restart-rules.js';
import { findContainerStatus } from '../../status/runtime-lookup.js';
import type { AgentContext } from '../agent-context.js';
import { requestPodRelist } from '../pleg/looks.js';
import { requestReinspectionOf } from '../pleg/requests.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { actuatedOf } from './allocation.js';
import { type AllocationManagerContext, asAllocationManager } from './slice.js';

/** At the beginning of a sync, before the status is computed. */
export function showProgress(caller: AgentContext, pod: Pod, runtime: PodRuntimeStatus): void {
  const context = asAllocationManager(caller);
  const { state, turn } = context;
  const { allocation } = state;
  const uid = uidOf(pod);
  // An inspection concurrent with the runtime's update may show the previous state.
  if (runtime.observedAt < (allocation.resized.get(uid) ?? -1)) lookAgain(context, uid);
  const before = conditionsOf(allocation, uid);
  if (isResizeInProgress(context, pod, runtime)) {
    setConditions(allocation, uid, withInProgress(before, { reason: '', message: '', generation: pod.metadata.generation ?? 0 }, turn.wall));
    return;
  }
  if (before.inProgress === null) return;
  setConditions(allocation, uid, withInProgress(before, null, turn.wall));
  const generation = before.inProgress.observedGeneration ?? 0;
  context.event(pod, null, 'Normal', 'ResizeCompleted', resizeMessage('completed', pod, allocation.gates, generation));
}

/** After a run that resized containers, or failed to: inspects the runtime's resources and reports them. */
export function noteResized(caller: AgentContext, { uid, pod, results }: SyncRun, effects: PodWorkerEffect[]): void {
  const context = asAllocationManager(caller);
  const resizes = results.filter(({ action }) => action === resizeAction);
  if (resizes.length === 0) return;
  const { allocation } = context.state;
  const error = resizes.find((result) => result.error !== null)?.error ?? null;
  // What failed wholly has changed nothing, and is tried again after its pause.
  if (resizes.some((result) => result.error === null)) {
    allocation.resized.set(uid, context.turn.now);
    lookAgain(context, uid);
  }
  if (error === null) {
    effects.push({ kind: 'enqueue', uid, baseDelayMicros: 0, rest: null });
    return;
  }
  const { message } = error;
  const before = conditionsOf(allocation, uid);
  const after = withInProgress(before, { reason: 'Error', message, generation: pod.metadata.generation ?? 0 }, context.turn.wall);
  setConditions(allocation, uid, after);
  if (before.inProgress?.reason === 'Error' && before.inProgress.message === message) return;
  const generation = after.inProgress?.observedGeneration ?? 0;
  context.event(pod, null, 'Warning', 'ResizeError', resizeMessage('error', pod, allocation.gates, generation, message));
}

/** Resources change neither states nor ids: without a request there would be no inspection. */
function lookAgain(context: AllocationManagerContext, uid: string): void {
  requestReinspectionOf(context.state, uid);
  requestPodRelist(context, uid);
}

/** The pod has ended. */
export function clearResize(caller: AgentContext, uid: string): void {
  const { allocation } = asAllocationManager(caller).state;
  setConditions(allocation, uid, noResize);
  allocation.pending = allocation.pending.filter((other) => other !== uid);
}

/** Init containers that run to an end don't count. */
function isResizeInProgress({ state }: AllocationManagerContext, pod: Pod, runtime: PodRuntimeStatus): boolean {
  const actuated = actuatedOf(state, uidOf(pod));
  let isAnyRunning = false;
  for (const container of [...(pod.spec.initContainers ?? []).filter(isRestartableInit), ...pod.spec.containers]) {
    const status = findContainerStatus(runtime, container.name);
    if (status?.state !== 'running') continue;
    isAnyRunning = true;
    if (decideResize(pod, container, status.id, actuated).kind !== 'none') return true;
  }
  return isAnyRunning && podLevelResourcesDiffer(pod, actuated);
}
