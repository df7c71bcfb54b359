// The status manager's record of one pod: the last status, its version, and the effect of each kind of change.
// An equal status is dropped; every change raises the version, which remains to be sent.
// Invariants: the start time is set once; a transition time moves only with the status value; a container that may not
// run again never leaves `terminated`; `finished` of a pod that isn't static never reverts.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import { isMirrorPod, isStaticPod } from '../values/pod-kind.js';
import { formatRfc3339 } from '../values/time.js';
import { conditionTypes, containersReadyCondition, findCondition, readyCondition, withCondition } from './conditions.js';
import { isTerminalPhase } from './phase.js';
import { isRestartableAfterExit, isRestartableInit, podHasRestartAllRule } from './restart-rules.js';
import { isPodStatusEqual } from './status-equality.js';
import { withTransitionTime } from './status-merge.js';
import { normalizedStatus } from './status-normalization.js';
import { terminatedStatus } from './terminate-pod.js';

export interface StatusRecord {
  /** Normalised. */
  readonly status: PodStatus;
  /** +1 with each change; compared with the version last sent. */
  readonly version: number;
  /** When the oldest change that is not sent yet was made; null when all is sent. */
  readonly changedAt: Micros | null;
  readonly podName: string;
  readonly podNamespace: string;
  /** All work for the pod is done: it may be deleted from the API once that shows a terminal phase. */
  readonly finished: boolean;
}

export type StatusChange =
  /** A newly computed status. */
  | { readonly kind: 'set'; readonly status: PodStatus }
  /** All containers were stopped and everything released. */
  | { readonly kind: 'terminate' }
  /** A readiness probe changed its mind. `containerID` as in the API, with the runtime's prefix. */
  | { readonly kind: 'readiness'; readonly containerID: string; readonly ready: boolean }
  | { readonly kind: 'startup'; readonly containerID: string; readonly started: boolean };

export interface StatusContext {
  /** With the API server's `status`; for a static pod, the pod itself. */
  readonly pod: Pod;
  /** Status of a static pod's mirror pod in the API; null if none. */
  readonly mirrorStatus: PodStatus | null;
  readonly now: Micros;
  readonly wall: Instant;
}

/** The record after a change; the same object when the change was not accepted. null: nothing is known of the pod yet. */
export function applyStatusChange(record: StatusRecord | null, change: StatusChange, context: StatusContext): StatusRecord | null {
  const { pod } = context;
  switch (change.kind) {
    case 'set':
      return update(record, withGeneration(change.status, pod), { force: pod.metadata.deletionTimestamp !== undefined, finished: false }, context);
    case 'terminate':
      return update(record, terminatedStatus(pod, record?.status ?? pod.status ?? {}), { force: true, finished: true }, context);
    case 'readiness':
      return record === null ? null : setReadiness(record, change.containerID, change.ready, context);
    case 'startup':
      return record === null ? null : setStartup(record, change.containerID, change.started, context);
  }
}

/** The record once `sentVersion` has reached the API. */
export function markSent(record: StatusRecord, sentVersion: number): StatusRecord {
  return record.version === sentVersion ? { ...record, changedAt: null } : record;
}

/** Whether the pod object may go: its termination is complete and the API shows it. Mirror pods are deleted with their static pod. */
export function mayDeleteFromApi(apiPod: Pod, record: StatusRecord): boolean {
  return apiPod.metadata.deletionTimestamp !== undefined && !isMirrorPod(apiPod) && isTerminalPhase(apiPod.status?.phase) && record.finished;
}

/** Whether the API's status differs from the one last sent, so that it must be sent again. `apiPod`: for a static pod its mirror. */
export function needsReconcile(apiPod: Pod, record: StatusRecord): boolean {
  return !isPodStatusEqual(normalizedStatus(apiPod, apiPod.status ?? {}), record.status);
}

function withGeneration(status: PodStatus, pod: Pod): PodStatus {
  const generation = pod.metadata.generation ?? 0;
  if (generation === 0 && !('observedGeneration' in status)) return status;
  const { observedGeneration: _, ...rest } = status;
  return generation === 0 ? rest : { ...rest, observedGeneration: generation };
}

interface UpdateOptions {
  /** Store it even if unchanged: a pod in deletion waits for the next update. */
  readonly force: boolean;
  readonly finished: boolean;
}

function update(record: StatusRecord | null, status: PodStatus, options: UpdateOptions, context: StatusContext): StatusRecord | null {
  const { pod, now, wall } = context;
  const base = record?.status ?? context.mirrorStatus ?? pod.status ?? {};
  if (illegalTransition(pod, base, status) !== null) return record;
  const next = normalizedStatus(pod, withTimes(status, base, wall));
  if (record !== null && !options.force && isPodStatusEqual(record.status, next)) return record;
  return {
    status: next,
    version: (record?.version ?? 0) + 1,
    changedAt: record?.changedAt ?? now,
    podName: pod.metadata.name,
    podNamespace: pod.metadata.namespace ?? '',
    finished: options.finished || (record?.finished === true && !isStaticPod(pod)),
  };
}

const timedConditions: ReadonlySet<string> = new Set([
  conditionTypes.containersReady,
  conditionTypes.ready,
  conditionTypes.initialized,
  conditionTypes.podReadyToStartContainers,
  conditionTypes.podScheduled,
  conditionTypes.disruptionTarget,
  conditionTypes.allContainersRestarting,
]);

function withTimes(status: PodStatus, base: PodStatus, wall: Instant): PodStatus {
  const observedGeneration = Math.max(status.observedGeneration ?? 0, base.observedGeneration ?? 0);
  const startTime = base.startTime ?? status.startTime ?? formatRfc3339(wall);
  // Members that the status lacks go in front of its copy: added behind, they would cost many times as much.
  return {
    startTime,
    ...status,
    ...(observedGeneration === 0 ? {} : { observedGeneration }),
    ...(status.conditions === undefined
      ? {}
      : { conditions: status.conditions.map((condition) => (timedConditions.has(condition.type) ? withTransitionTime(condition, base, wall) : condition)) }),
    ...(status.startTime === startTime || !('startTime' in status) ? undefined : { startTime }),
  };
}

/** Which container would leave `terminated` although it may not run again, as a message; null when none does. */
export function illegalTransition(pod: Pod, before: PodStatus, after: PodStatus): string | null {
  const policy = pod.spec.restartPolicy ?? 'Always';
  if (policy === 'Always' || podHasRestartAllRule(pod)) return null;
  const regular = pod.spec.containers;
  const init = pod.spec.initContainers ?? [];
  const leaving = (old: readonly ContainerStatus[] | undefined, next: readonly ContainerStatus[] | undefined, specs: Pod['spec']['containers']): string | null => {
    for (const { name, state } of old ?? []) {
      const exit = state?.terminated;
      if (exit === undefined || (exit.exitCode !== 0 && policy === 'OnFailure')) continue;
      const spec = specs.find((container) => container.name === name);
      if (spec !== undefined && (isRestartableAfterExit(pod, spec, exit.exitCode) || (specs === init && isRestartableInit(spec)))) continue;
      if (next?.some((status) => status.name === name && status.state?.terminated === undefined)) return name;
    }
    return null;
  };
  const container = leaving(before.containerStatuses, after.containerStatuses, regular);
  if (container !== null) return `terminated container ${container} attempted illegal transition to non-terminated state`;
  const initContainer = leaving(before.initContainerStatuses, after.initContainerStatuses, init);
  return initContainer === null ? null : `terminated init container ${initContainer} attempted illegal transition to non-terminated state`;
}

function setReadiness(record: StatusRecord, containerID: string, ready: boolean, context: StatusContext): StatusRecord {
  const found = findById(record.status, containerID);
  if (found === null || found.ready === ready) return record;
  const { pod } = context;
  const status = withContainer(record.status, { ...found, ready });
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const containersReady = containersReadyCondition(pod, statuses, status.phase);
  const conditions = withCondition(status.conditions ?? [], readyCondition(pod, status.conditions ?? [], containersReady));
  return update(record, { ...status, conditions: withCondition(conditions, containersReady) }, { force: false, finished: false }, context) ?? record;
}

function setStartup(record: StatusRecord, containerID: string, started: boolean, context: StatusContext): StatusRecord {
  const found = findById(record.status, containerID);
  if (found === null || found.started === started) return record;
  return update(record, withContainer(record.status, { ...found, started }), { force: false, finished: false }, context) ?? record;
}

function findById(status: PodStatus, containerID: string): ContainerStatus | null {
  return [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find((candidate) => candidate.containerID === containerID) ?? null;
}

function withContainer(status: PodStatus, changed: ContainerStatus): PodStatus {
  const replaced = (statuses: readonly ContainerStatus[]): readonly ContainerStatus[] =>
    statuses.map((candidate) => (candidate.containerID === changed.containerID && candidate.name === changed.name ? changed : candidate));
  return {
    ...status,
    ...(status.containerStatuses === undefined ? {} : { containerStatuses: replaced(status.containerStatuses) }),
    ...(status.initContainerStatuses === undefined ? {} : { initContainerStatuses: replaced(status.initContainerStatuses) }),
  };
}

/** Whether the pod's Ready condition lags behind its readiness gates. */
export function needsReadinessReconcile(pod: Pod): boolean {
  if ((pod.spec.readinessGates ?? []).length === 0) return false;
  const conditions = pod.status?.conditions ?? [];
  const current = findCondition(conditions, conditionTypes.ready);
  if (current === null) return false;
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const expected = readyCondition(pod, conditions, containersReadyCondition(pod, statuses, pod.status?.phase));
  return current.status !== expected.status || (current.message ?? '') !== (expected.message ?? '');
}
