// Computes a pod's status from the current state, and keeps the newest per pod.

import type { Pod } from '../../../ports/model/pod.js';
import type { PodStatus } from '../../../ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';
import { withActuatedMemory } from '../../allocation/actuated-memory.js';
import { noResize } from '../../allocation/resize-conditions.js';
import { podCgroupConfig, podCgroupOptions } from '../../cgroups/pod-cgroup-config.js';
import type { NodeFacts } from '../../containers/node-facts.js';
import type { SyncRun } from '../../pod-sync/sync-run.js';
import type { TerminationStatus } from '../../pod-workers/pod-worker-record.js';
import { probeVersionOf, probeViewOf } from '../../probes/probe-registry.js';
import { conditionTypes, findCondition, podCondition, withCondition } from '../../status/conditions.js';
import type { StartFailure } from '../../status/container-statuses.js';
import { deadlineExceeded, isPastActiveDeadline } from '../../status/deadline.js';
import { isLeftAsItIs, withKnownAddresses } from '../../status/known-addresses.js';
import { withKnownEnds } from '../../status/known-ends.js';
import { isTerminalPhase } from '../../status/phase.js';
import type { PodCgroupReading } from '../../status/pod-level-resources.js';
import { apiPodStatus } from '../../status/pod-status.js';
import type { ProbeView } from '../../status/probe-state.js';
import { asReported } from '../../status/reported-probes.js';
import { withoutStaleStarted, withoutStarted } from '../../status/stale-started.js';
import { applyStatusChange, illegalTransition, type StatusChange } from '../../status/status-manager.js';
import { withLostSidecarsEnded, withStrandedSidecarsEnded } from '../../status/stranded-sidecars.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { actuatedOf, actuatedPod } from '../allocation-manager/allocation.js';
import { noteNodeCgroups } from '../cgroups/node-cgroups.js';
import { startObserved } from '../observed-times/requests.js';
import { podAndMirror, uidOf } from '../pod-manager/pod-index.js';
import { planProbes } from '../probe-manager/probe-workers.js';
import { notePodStart, podStart } from './pod-starts.js';
import { asStatusManager, type StatusManagerContext, statusManagerState } from './slice.js';
import { queueStatusWrite } from './status-writes.js';

const noReading = { cpuShares: null, cpuQuotaMicros: null, cpuPeriodMicros: null, memoryLimitBytes: null };
type StartFailures = ReadonlyMap<string, StartFailure>;

const noFailures: StartFailures = new Map();

/** Pods' cgroups aren't read back. A pod that ends before it was ever reported as running has no resources to keep in its status. */
function asSpecified(pod: Pod, facts: NodeFacts): PodCgroupReading {
  const { cpuShares, cpuQuotaMicros, cpuPeriodMicros, memoryBytes } = podCgroupConfig(pod, podCgroupOptions(facts, false));
  return { cpuShares, cpuQuotaMicros, cpuPeriodMicros, memoryLimitBytes: memoryBytes === null ? null : Number(memoryBytes) };
}

/** The status that follows from the runtime's. @param podIsTerminal all its containers were stopped permanently */
export function computeStatus(caller: AgentContext, pod: Pod, runtime: PodRuntimeStatus, podIsTerminal: boolean): PodStatus {
  const context = asStatusManager(caller);
  return statusFrom(context, pod, runtime, podIsTerminal, context.state.startFailures.get(uidOf(pod)) ?? noFailures);
}

function statusFrom(context: StatusManagerContext, pod: Pod, runtime: PodRuntimeStatus, podIsTerminal: boolean, startFailures: StartFailures): PodStatus {
  const { state, turn } = context;
  const uid = uidOf(pod);
  const cached = state.statuses.get(uid)?.status ?? null;
  const previous = withKnownStart(context, uid, cached ?? pod.status ?? {});
  const computed = apiPodStatus({
    pod,
    cachedStatus: previousStatus(context, pod, previous, runtime),
    runtime: withActuatedMemory(withKnownAddresses(withKnownEnds(withStrandedSidecarsEnded(pod, runtime, previous), previous), previous), actuatedOf(state, uid)),
    runtimeType: state.readiness.name,
    runtimeSupportsRecursiveReadOnly: state.readiness.handlers.some(({ name, recursiveReadOnlyMounts }) => name === '' && recursiveReadOnlyMounts),
    containerStopSignals: state.nodeFacts.containerStopSignals,
    podIsTerminal,
    startFailures,
    probes: probesOf(context, pod, runtime),
    node: { addresses: state.nodeFacts.nodeAddresses, configuredIps: state.settings.nodeIps },
    resizeConditions: (state.allocation.conditions.get(uid) ?? noResize).list,
    podCgroup: cached?.phase === 'Running' && !state.allocation.resized.has(uid) ? noReading : asSpecified(actuatedPod(state, pod), state.nodeFacts),
    isPastDeadline: isPastActiveDeadline(pod, podStart(context, uid, previous), turn.now),
  });
  const status = keepingEnd(cached, withKnownStart(context, uid, computed));
  if (status.reason === deadlineExceeded.reason && status.phase === 'Failed') context.event(pod, null, 'Normal', deadlineExceeded.reason, deadlineExceeded.message);
  return status;
}

/** A static pod's status begins without the API: its start time is what an earlier agent has written down. */
function withKnownStart({ state }: StatusManagerContext, uid: string, status: PodStatus): PodStatus {
  const startTime = status.startTime === undefined && state.statuses.get(uid) === undefined ? state.podStarts.get(uid)?.startTime : undefined;
  return startTime === undefined ? status : { startTime, ...status };
}

/** Results of this agent's probes, and the reported values of containers without a probe result: for a static pod those of its mirror. */
function probesOf({ state }: StatusManagerContext, pod: Pod, runtime: PodRuntimeStatus): ProbeView {
  const uid = uidOf(pod);
  const view = probeViewOf(state.probes, uid);
  // With the gate ChangeContainerStatusOnKubeletRestart, a container that this kubelet has not probed is neither ready nor started.
  if (state.nodeFacts.changesStatusOnRestart) return view;
  return asReported(view, pod, runtime, state.statuses.get(uid)?.status ?? podAndMirror(state.pods, pod).mirror?.status ?? pod.status ?? {});
}

/** The base of the new status, or null: the pod's own status. */
function previousStatus({ state }: StatusManagerContext, pod: Pod, previous: PodStatus, runtime: PodRuntimeStatus): PodStatus | null {
  const uid = uidOf(pod);
  const cached = state.statuses.get(uid)?.status ?? null;
  const started = state.nodeFacts.changesStatusOnRestart ? withoutStarted(previous) : withoutStaleStarted(previous, runtime);
  const known = withLostSidecarsEnded(pod, runtime, started);
  if (cached === null) return known === previous ? null : known;
  return state.allocation.resized.has(uid) ? withoutMemoryRequest(known) : known;
}

function resizeOf(state: AgentView, uid: string) {
  return { resize: state.allocation.conditions.get(uid) ?? noResize, actuated: actuatedOf(state, uid) };
}

/** For a resized pod: its previously reported request is outdated, and the kernel can't report it. */
function withoutMemoryRequest(status: PodStatus): PodStatus {
  const { memory: _, ...requests } = status.resources?.requests ?? {};
  return { ...status, resources: { ...status.resources, requests } };
}

/** A terminated pod stays so: a deadline that passes afterwards doesn't change it. */
function keepingEnd(before: PodStatus | null, status: PodStatus): PodStatus {
  const phase = before?.phase;
  if (before === null || phase === undefined || !isTerminalPhase(phase) || phase === status.phase) return status;
  const { reason: _reason, message: _message, ...rest } = status;
  const { reason, message } = before;
  return { ...rest, phase, ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/** The killer's status of the pod that it ends. */
export function withTermination(status: PodStatus, pod: Pod, termination: TerminationStatus): PodStatus {
  const phase = termination.keepsSuccess && status.phase === 'Succeeded' ? 'Succeeded' : 'Failed';
  const failed: PodStatus = { ...status, phase, reason: termination.reason, message: termination.message };
  if (termination.disruptionReason === null) return failed;
  const condition = podCondition(conditionTypes.disruptionTarget, 'True', pod.metadata.generation, termination.disruptionReason, termination.disruptionMessage ?? '');
  return { ...failed, conditions: withCondition(failed.conditions ?? [], condition) };
}

export function setStatus(caller: AgentContext, pod: Pod, status: PodStatus): void {
  const context = asStatusManager(caller);
  changeStatus(context, pod, { kind: 'set', status });
}

/**
 * Computes and keeps the status at the beginning of a sync. When nothing that it follows from has changed since the last time, the
 * record of that time is still right; only a deadline makes a status follow from the clock.
 */
export function refreshStatus(caller: AgentContext, pod: Pod, runtime: PodRuntimeStatus): PodStatus {
  const context = asStatusManager(caller);
  const { state } = context;
  const uid = uidOf(pod);
  const failures = state.startFailures.get(uid) ?? noFailures;
  const probes = probeVersionOf(state.probes, uid);
  const record = state.statuses.get(uid);
  const last = state.computed.get(uid);
  if (
    record !== undefined &&
    last !== undefined &&
    last.record === record &&
    last.pod === pod &&
    last.runtime === runtime &&
    last.failures === failures &&
    last.nodeFacts === state.nodeFacts &&
    last.runtimeName === state.readiness.name &&
    last.probes === probes &&
    last.resize === (state.allocation.conditions.get(uid) ?? noResize) &&
    last.actuated === actuatedOf(state, uid) &&
    pod.spec.activeDeadlineSeconds === undefined
  ) {
    return record.status;
  }
  const status = computeStatus(context, pod, runtime, false);
  setStatus(context, pod, status);
  const now = state.statuses.get(uid);
  if (now !== undefined)
    state.computed.set(uid, { record: now, pod, runtime, failures, nodeFacts: state.nodeFacts, runtimeName: state.readiness.name, probes, ...resizeOf(state, uid) });
  return status;
}

/**
 * Reports failed container starts at the end of a sync: the pod waits for them until the next sync, which may be minutes later and may
 * itself fail for another reason. Other changes of the sync are reported after the runtime's event; until then a started container
 * keeps its previous state.
 */
export function showStartFailures(caller: AgentContext, { uid, pod, status, before }: SyncRun): void {
  const context = asStatusManager(caller);
  const { state } = context;
  // A status from the middle of the sync may be outdated at its end: a container may have been killed since.
  const runtime = status.containers === before.containers ? status : { ...status, containers: before.containers };
  const failures = new Map([...(before.failures ?? noFailures), ...(state.startFailures.get(uid) ?? noFailures)]);
  setStatus(context, pod, statusFrom(context, pod, runtime, false, failures));
}

/** A readiness or startup probe changed its mind about a container. */
export function setProbed(caller: AgentContext, pod: Pod, kind: 'readiness' | 'startup', containerName: string, isSuccess: boolean): void {
  const context = asStatusManager(caller);
  const { containerStatuses = [], initContainerStatuses = [] } = context.state.statuses.get(uidOf(pod))?.status ?? {};
  const containerID = [...containerStatuses, ...initContainerStatuses].find(({ name }) => name === containerName)?.containerID;
  if (containerID === undefined) return;
  changeStatus(context, pod, kind === 'readiness' ? { kind, containerID, ready: isSuccess } : { kind, containerID, started: isSuccess });
}

/** Reports at once that a pod's network is set up, before its images are pulled; the rest of the status is unchanged. */
export function setReadyToStartContainers(context: StatusManagerContext): void {
  const { api, statuses } = context.state;
  if (api === null || api.connected.size === 0) return;
  for (const [uid, pod] of api.connected) {
    const status = statuses.get(uid)?.status;
    if (status === undefined || findCondition(status.conditions, conditionTypes.podReadyToStartContainers)?.status === 'True') continue;
    const condition = podCondition(conditionTypes.podReadyToStartContainers, 'True', pod.metadata.generation);
    setStatus(context, pod, { ...status, conditions: withCondition(status.conditions ?? [], condition) });
  }
  api.connected.clear();
}

/** Reports the status of a terminated pod, before its remains are removed. */
export function showEnded(context: AgentContext, pod: Pod, runtime: PodRuntimeStatus): void {
  const known = context.state.statuses.get(uidOf(pod))?.status;
  if (known === undefined && isLeftAsItIs(pod.status ?? {}, runtime)) return;
  setStatus(context, pod, computeStatus(context, pod, runtime, true));
}

/** The last word about a pod: everything of it is released. */
export function terminateStatus(caller: AgentContext, pod: Pod): void {
  const context = asStatusManager(caller);
  changeStatus(context, pod, { kind: 'terminate' });
}

function changeStatus(context: StatusManagerContext, pod: Pod, change: StatusChange): void {
  const { state, turn } = context;
  const uid = uidOf(pod);
  const known = state.statuses.get(uid) ?? null;
  const { mirror } = podAndMirror(state.pods, pod);
  const next = applyStatusChange(known, change, {
    pod,
    mirrorStatus: known === null && isStaticPodRestart(pod, mirror?.status, change) ? null : (mirror?.status ?? null),
    now: turn.now,
    wall: turn.wall,
  });
  if (next === null || next === known) return;
  state.statuses.set(uid, next);
  notePodStart(context, uid, next.status);
  if (isTerminalPhase(next.status.phase)) noteNodeCgroups(state, uid);
  queueStatusWrite(state, uid);
  planProbes(context, uid);
}

/** A terminated static pod may run again under its UID, with another agent: its mirror's container statuses then belong to its previous run. */
function isStaticPodRestart(pod: Pod, mirrored: PodStatus | undefined, change: StatusChange): boolean {
  return mirrored !== undefined && change.kind === 'set' && illegalTransition(pod, mirrored, change.status) !== null;
}

/** Drops the status of a pod that no part knows any more. */
export function forgetStatus(view: AgentView, uid: string): void {
  const state = statusManagerState(view);
  state.statuses.delete(uid);
  if (state.podStarts.delete(uid)) startObserved(state, uid);
  state.computed.delete(uid);
}

/** The sandbox and the network of the pod came up in this step. */
export function sandboxConnected(caller: AgentContext, uid: string, pod: Pod): void {
  asStatusManager(caller).state.api?.connected.set(uid, pod);
}
