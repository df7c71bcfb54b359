// The four operations of a pod worker: how each begins, and the result of its end. In between the run advances by itself.

import type { Pod } from '../../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import { assert, unreachable } from '../../kernel/assert.js';
import type { Reply } from '../../kernel/machine.js';
import { emptyPodStatus, readPodCache } from '../../pod-cache/pod-cache.js';
import type { ActionResult } from '../../pod-sync/action-result.js';
import { advanceRun, cancelRun, hookReplied, resultOfRun, runReplied } from '../../pod-sync/advance-run.js';
import type { HookReply } from '../../pod-sync/lifecycle-hook.js';
import { beginPodKill } from '../../pod-sync/pod-kill.js';
import { restoreContainer } from '../../pod-sync/restored-pod.js';
import { podAddress } from '../../pod-sync/sync-context.js';
import type { SyncRun, SyncStep } from '../../pod-sync/sync-run.js';
import { newVolumeWait } from '../../pod-sync/volume-wait.js';
import type { PodOperation, PodRest, PodWorkerEffect } from '../../pod-workers/effects.js';
import { type RunResult, runFinished } from '../../pod-workers/run-pod.js';
import { podOfRunning } from '../../pod-workers/update-pod.js';
import { activeDeadline } from '../../status/deadline.js';
import { isTerminalPhase } from '../../status/phase.js';
import { isStaticPod } from '../../values/pod-kind.js';
import { byCodeUnits } from '../../values/text-order.js';
import type { AgentContext } from '../agent-context.js';
import { clearResize, noteResized, showProgress } from '../allocation-manager/resize-progress.js';
import { isPrepared, setUnprepared } from '../cgroups/prepared-pods.js';
import { noteRunEnded } from '../housekeeping/clean-up-needs.js';
import { reconcileMirror } from '../mirror-client/mirror-pods.js';
import { planPodRelist } from '../pleg/looks.js';
import { endPredecessors } from '../pod-config/inherited-pods.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { addProbes, removeProbes, stopRestartingProbes } from '../probe-manager/probe-workers.js';
import { podStart } from '../status-manager/pod-starts.js';
import { computeStatus, refreshStatus, setStatus, showEnded, showStartFailures, terminateStatus, withTermination } from '../status-manager/pod-statuses.js';
import { queueStatusWrite } from '../status-manager/status-writes.js';
import { forgetVolumeRelease } from '../volume-manager/requests.js';
import { reportKept, stepEnded } from './kept-pods.js';
import { asPodWorkers, type PodWorkersContext } from './slice.js';
import { missingFeature } from './unsupported.js';

export function beginOperation(context: PodWorkersContext, uid: string, operation: PodOperation, effects: PodWorkerEffect[]): void {
  assert(!context.state.runs.has(uid), 'a pod has a run already', uid);
  const cached = readPodCache(context.state.cache, uid);
  const status = cached.kind === 'status' ? cached.status : emptyPodStatus(uid);
  const pod = operation.op === 'syncTerminatingRuntimePod' ? runtimePod(operation.runningPod, status) : operation.pod;
  const run: SyncRun = {
    uid,
    operation,
    pod,
    status,
    sandboxId: '',
    sandboxAttempt: 0,
    hostIds: null,
    imageVolumes: new Map(),
    steps: [],
    outstanding: 0,
    cancelled: false,
    results: [],
    failure: null,
    isNetworkMissing: false,
    podIsTerminal: false,
    startedAt: context.turn.now,
    before: { containers: status.containers, failures: context.state.startFailures.get(uid) ?? null },
    pullSecretsSince: null,
  };
  context.state.runs.set(uid, run);
  run.steps = firstSteps(context, run, operation, effects);
  if (advanceRun(run, context)) finish(context, run, effects);
}

/** An answer for `pod/<uid>`. */
export function operationReplied(context: PodWorkersContext, uid: string, reply: Reply<AgentOperations>, effects: PodWorkerEffect[]): void {
  const run = context.state.runs.get(uid);
  assert(run !== undefined, 'a pod got an answer but has no run', uid);
  if (runReplied(run, reply, context)) finish(context, run, effects);
}

/** A reply for `hook/<uid>`: the run that began the hook may have ended. */
export function operationHookReplied(context: PodWorkersContext, uid: string, reply: HookReply, effects: PodWorkerEffect[]): void {
  const run = context.state.runs.get(uid);
  if (run !== undefined && hookReplied(run, reply, context)) finish(context, run, effects);
}

/** A phase of a kill may have ended by time. */
export function operationWoken(caller: AgentContext, uid: string, effects: PodWorkerEffect[]): void {
  const context = asPodWorkers(caller);
  const run = context.state.runs.get(uid);
  if (run !== undefined && advanceRun(run, context)) finish(context, run, effects);
}

export function cancelOperation(context: PodWorkersContext, uid: string, effects: PodWorkerEffect[]): void {
  const run = context.state.runs.get(uid);
  if (run === undefined) return;
  cancelRun(run, context);
  if (advanceRun(run, context)) finish(context, run, effects);
}

function firstSteps(context: PodWorkersContext, run: SyncRun, operation: PodOperation, effects: PodWorkerEffect[]): SyncStep[] {
  if (operation.op !== 'syncPod') setUnprepared(context.state, run.uid);
  switch (operation.op) {
    case 'syncPod':
      return syncSteps(context, run, effects);
    case 'syncTerminatingPod': {
      const status = computeStatus(context, run.pod, run.status, false);
      stopRestartingProbes(context, run.pod);
      setStatus(context, run.pod, operation.statusChange === null ? status : withTermination(status, run.pod, operation.statusChange));
      return [
        { kind: 'kill', kill: beginPodKill(run.pod, run.status, operation.gracePeriodSeconds, context) },
        { kind: 'verify', phase: 'ask' },
        { kind: 'claims', to: 'unprepare', begun: false },
      ];
    }
    case 'syncTerminatingRuntimePod':
      return [{ kind: 'kill', kill: beginPodKill(run.pod, run.status, operation.gracePeriodSeconds, context) }];
    case 'syncTerminatedPod':
      showEnded(context, run.pod, run.status);
      return [
        { kind: 'unmount', wait: newVolumeWait() },
        { kind: 'destroyCgroup', phase: 'ask' },
      ];
    default:
      return unreachable(operation);
  }
}

function syncSteps(context: PodWorkersContext, run: SyncRun, effects: PodWorkerEffect[]): SyncStep[] {
  const { state } = context;
  const { pod } = run;
  // Before the status: a container with a readiness probe isn't ready before its first probe.
  if (!context.isTerminationRequested(run.uid)) addProbes(context, pod);
  showProgress(context, pod, run.status);
  const status = refreshStatus(context, pod, run.status);
  if (isTerminalPhase(status.phase)) {
    run.podIsTerminal = true;
    return [];
  }
  if (isStaticPod(pod)) reconcileMirror(context, pod);
  const { networkProblem } = state.readiness;
  if (networkProblem !== null && pod.spec.hostNetwork !== true) {
    run.isNetworkMissing = true;
    run.failure = `network is not ready: ${networkProblem}`;
    context.event(pod, null, 'Warning', 'NetworkNotReady', run.failure);
    return [];
  }
  const missing = missingFeature(pod, state.dra !== null);
  if (missing !== null) {
    run.failure = missing.message;
    if (state.reportedMissingFeatures.get(run.uid) !== missing.message) context.event(pod, null, 'Warning', missing.reason, missing.message);
    state.reportedMissingFeatures.set(run.uid, missing.message);
    return [];
  }
  if (state.orphans.has(run.uid)) {
    run.failure = 'waiting for the removal of a previous pod with the same UID';
    return [];
  }
  const predecessors = endPredecessors(context, pod, effects);
  if (predecessors.length > 0) {
    run.failure = `waiting for the previous pod of this name to terminate: ${predecessors.join(', ')}`;
    return [];
  }
  context.apiParts.podWanted(context, run.uid, pod);
  if (isPrepared(context.state, pod)) {
    // Volume content is refreshed in the background; the run doesn't wait for it.
    if (context.apiData?.takeChanged(run.uid) === true) context.volumes.refresh(run.uid);
    return [{ kind: 'allocation' }, { kind: 'plan' }];
  }
  return [
    { kind: 'allocation' },
    { kind: 'cgroup', phase: 'check', kill: null },
    { kind: 'directories', phase: 'ask' },
    { kind: 'volumes', wait: newVolumeWait() },
    { kind: 'plan' },
  ];
}

function finish(context: PodWorkersContext, run: SyncRun, effects: PodWorkerEffect[]): void {
  const { state, turn } = context;
  assert(state.runs.get(run.uid) === run, 'a run ends during another run of its pod', run.uid);
  assert(run.outstanding === 0, 'a run ends while its commands are in flight', run.uid);
  state.runs.delete(run.uid);
  context.claims?.leave(run.uid);
  turn.wakeAt(podAddress(run.uid), null);
  stepEnded(context, run.uid);
  const result = conclude(context, run);
  if (result.error !== null && result.error.kind !== 'cancelled') logFailedSync(context, run.pod, result.error.message);
  runFinished(state.workers, run.uid, result, turn.now, effects);
  // A failed call may leave a container that never ran, for which a runtime needn't send an event. A polled one shows it within a second.
  if (state.settings.runtimeSendsEvents && run.results.some(hasFailed)) planPodRelist(context, run.uid);
  if (run.operation.op !== 'syncPod') noteRunEnded(context, run.uid);
  // Status writes held back while containers could run may be sent now.
  if (run.operation.op !== 'syncPod') {
    queueStatusWrite(state, run.uid);
    const pod = state.pods.pods.get(run.uid);
    if (pod !== undefined && isStaticPod(pod)) reconcileMirror(context, pod);
  }
  noteResized(context, run, effects);
  const record = state.workers.records.get(run.uid);
  if (record?.finished !== true) return;
  // A start failure belongs to this life of the pod: another one under the same UID would otherwise appear as waiting, after it has ended.
  state.startFailures.delete(run.uid);
  // The name is free: pods that wait for it needn't wait for their next check.
  for (const uid of state.workers.waitingStaticPods.get(record.fullName) ?? []) effects.push({ kind: 'enqueue', uid, baseDelayMicros: 0, rest: null });
}

/** Of runs that end because there is something else to do, nothing is logged. */
export function logFailedSync({ turn }: PodWorkersContext, pod: Pod, err: string): void {
  const { name, namespace = '' } = pod.metadata;
  turn.log('error', 'Error syncing pod, skipping', { pod: `${namespace}/${name}`, podUID: uidOf(pod), err });
}

function conclude(context: PodWorkersContext, run: SyncRun): RunResult {
  const result = resultOfRun(run);
  const { error } = result;
  switch (run.operation.op) {
    case 'syncPod':
      if (!run.cancelled && run.results.some(isFailedStart)) showStartFailures(context, run);
      return result.rest === null ? result : { ...result, rest: untilDeadline(context, run, result.rest) };
    case 'syncTerminatingPod':
    case 'syncTerminatingRuntimePod': {
      if (error === null) {
        removeProbes(context, run.uid);
        if (run.operation.op === 'syncTerminatingPod') setStatus(context, run.pod, computeStatus(context, run.pod, run.status, true));
        // This ends the wait for the end of a pod that only the runtime knows.
        return run.operation.op === 'syncTerminatingRuntimePod' ? { ...result, postSync: true } : result;
      }
      if (error.kind === 'cancelled') return result;
      reportKept(context, run.pod, error.message);
      // Its containers are dead.
      if (run.steps[0]?.kind === 'claims') return result;
      return { ...result, error: { ...error, message: `error killing terminating pod: ${error.message}` } };
    }
    case 'syncTerminatedPod':
      if (error === null) {
        clearResize(context, run.uid);
        terminateStatus(context, run.pod);
        forgetVolumeRelease(context, run.uid);
        context.apiParts.podReleased(context, run.uid);
      } else if (error.kind !== 'cancelled') reportKept(context, run.pod, error.message);
      return result;
    default:
      return unreachable(run.operation);
  }
}

/** Not: waits for its time. */
function hasFailed({ error }: ActionResult): boolean {
  return error !== null && error.retryAt === null;
}

function isFailedStart({ action, error }: ActionResult): boolean {
  return action === 'StartContainer' && error !== null;
}

/** A deadline is the only thing that may end a pod's rest without anything having happened. */
function untilDeadline(context: PodWorkersContext, { pod, uid }: SyncRun, rest: PodRest): PodRest {
  const deadline = activeDeadline(pod, podStart(context, uid, context.state.statuses.get(uid)?.status ?? {}));
  if (deadline === null) return rest;
  return { until: rest.until === null ? deadline : Math.min(rest.until, deadline) };
}

/** A pod without configuration: rebuilt from its containers in the runtime. */
function runtimePod(running: Parameters<typeof podOfRunning>[0], status: PodRuntimeStatus): Pod {
  // Newest first: of several instances the newest one's hook counts.
  const hooks = new Map(status.containers.toReversed().map(({ name, preStop }) => [name, preStop]));
  const pod = podOfRunning(running);
  const containers = [...hooks.keys()].sort(byCodeUnits).map((name) => restoreContainer(name, hooks.get(name)));
  return { ...pod, spec: { ...pod.spec, containers } };
}
