// `started` and `ready` of container statuses, from probe results and from the status before this kubelet's start.
// Invariant: a container without a probe is started and ready as soon as it runs; a restart of the kubelet changes neither.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus } from '../../ports/model/pod-status.js';
import { instantAfter } from '../values/instant.js';
import { runtimeContainerId } from '../values/pod-references.js';
import { microsPerSecond, parseRfc3339 } from '../values/time.js';
import { conditionTypes, findCondition } from './conditions.js';
import { isRestartableInit } from './restart-rules.js';

export type ProbeResult = 'success' | 'failure' | 'unknown';

export interface ProbeView {
  /** By the runtime's container ID, without the runtime's prefix. */
  readonly readiness: ReadonlyMap<string, ProbeResult>;
  readonly startup: ReadonlyMap<string, ProbeResult>;
  readonly hasWorker: (containerName: string, kind: 'readiness' | 'startup') => boolean;
  readonly kubeletStartedAt: Instant;
}

/** Containers started so long before the kubelet were probed by the kubelet before it. */
const takenOverAfter: Micros = 10 * microsPerSecond;

/** Regular container statuses with `started` and `ready` filled in. */
export function withProbeState(pod: Pod, statuses: readonly ContainerStatus[], probes: ProbeView): readonly ContainerStatus[] {
  return statuses.map((status) => probed(pod, pod.spec.containers.find((container) => container.name === status.name) ?? null, status, probes));
}

/** Init container statuses: a plain one is ready once it exited with 0, a sidecar like a regular container. */
export function withInitProbeState(pod: Pod, statuses: readonly ContainerStatus[], probes: ProbeView): readonly ContainerStatus[] {
  return statuses.map((status) => {
    const container = pod.spec.initContainers?.find((candidate) => candidate.name === status.name) ?? null;
    if (container !== null && isRestartableInit(container)) return probed(pod, container, status, probes);
    const withStarted = { ...status, started: isStarted(status, probes) };
    return status.state?.terminated?.exitCode === 0 ? { ...withStarted, ready: true } : withStarted;
  });
}

function probed(pod: Pod, container: Container | null, status: ContainerStatus, probes: ProbeView): ContainerStatus {
  const started = isStarted(status, probes);
  const ready = started ? isReady(pod, container, status, probes) : status.ready;
  // New members come first in the copy: appending them costs many times as much.
  return 'started' in status ? { ...status, started, ready } : { started, ...status, ready };
}

function isStarted(status: ContainerStatus, probes: ProbeView): boolean {
  if (status.state?.running === undefined) return false;
  const result = probes.startup.get(runtimeContainerId(status.containerID));
  if (result !== undefined) return result === 'success';
  return status.started === true || !probes.hasWorker(status.name, 'startup');
}

/** Of a running, started container. */
function isReady(pod: Pod, container: Container | null, status: ContainerStatus, probes: ProbeView): boolean {
  const result = probes.readiness.get(runtimeContainerId(status.containerID));
  if (result === 'success') return true;
  const hasWorker = probes.hasWorker(status.name, 'readiness');
  if (!hasWorker && container?.readinessProbe === undefined) return true;
  if (!isTakenOver(status, probes)) return !hasWorker;
  if (container?.readinessProbe !== undefined && findCondition(pod.status?.conditions, conditionTypes.ready)?.status !== 'True') return false;
  return !hasWorker || result === undefined;
}

function isTakenOver(status: ContainerStatus, probes: ProbeView): boolean {
  const text = status.state?.running?.startedAt;
  const startedAt = text === undefined ? null : parseRfc3339(text);
  return startedAt !== null && instantAfter(startedAt, takenOverAfter) < probes.kubeletStartedAt;
}
