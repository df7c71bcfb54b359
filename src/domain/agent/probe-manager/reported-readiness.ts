// A static pod is synced before the API's pods are known, and only its mirror has the reported container statuses. So the mirror's
// `started` and `ready` are adopted when it is first seen, and until then its probes publish no results without an attempt.
import type { Pod } from '../../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../../ports/model/pod-status.js';
import { probedContainers } from '../../probes/probe-registry.js';
import { type IsTakenOver, isReportedReady } from '../../probes/probe-worker.js';
import { isMirrorPod, isStaticPod } from '../../values/pod-kind.js';
import { podFullNameOf, runtimeContainerId } from '../../values/pod-references.js';
import type { AgentContext } from '../agent-context.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { setProbed } from '../status-manager/pod-statuses.js';
import type { ProbeManagerContext } from './slice.js';

/** Containers that keep their reported values until a probe of this agent has a result. */
export function takenOver({ state }: ProbeManagerContext): IsTakenOver {
  if (state.nodeFacts.changesStatusOnRestart) return () => false;
  const { api } = state;
  const awaitsMirrors = api !== null && api.reflectors.get('pods')?.synced !== true;
  return (worker, container) => (awaitsMirrors && worker.kind !== 'liveness' && isStaticPod(worker.pod)) || isReportedReady(worker, container);
}

/** A mirror without a written status yet: containers without results of this agent keep its values. */
export function takeReported(context: AgentContext, mirror: Pod): void {
  const { state } = context;
  if (state.api === null || state.nodeFacts.changesStatusOnRestart || !isMirrorPod(mirror)) return;
  const pod = state.pods.podsByFullName.get(podFullNameOf(mirror));
  const uid = pod === undefined ? '' : uidOf(pod);
  const record = state.statuses.get(uid);
  if (pod === undefined || record === undefined || state.api.statusWrites.pods.get(uid)?.target === uidOf(mirror)) return;
  const { readiness, startup } = state.probes.results;
  for (const container of probedContainers(pod)) {
    const reported = statusOf(mirror.status ?? {}, container.name);
    const id = runningId(reported);
    if (reported === null || id === null || id !== runningId(statusOf(record.status, container.name))) continue;
    if (container.startupProbe !== undefined && !startup.has(id) && reported.started === true) setProbed(context, pod, 'startup', container.name, true);
    if (container.readinessProbe !== undefined && !readiness.has(id)) setProbed(context, pod, 'readiness', container.name, reported.ready);
  }
}

function statusOf({ containerStatuses = [], initContainerStatuses = [] }: PodStatus, name: string): ContainerStatus | null {
  return [...containerStatuses, ...initContainerStatuses].find((status) => status.name === name) ?? null;
}

/** The runtime's id; null: not reported as running. */
function runningId(status: ContainerStatus | null): string | null {
  return status?.state?.running === undefined ? null : runtimeContainerId(status.containerID);
}
