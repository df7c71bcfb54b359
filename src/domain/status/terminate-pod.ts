// The last status of a pod whose containers were all stopped: containers without a known end are reported as ended.
// Invariant: no container of an initialized pod is left running or waiting; the phase is terminal unless the pod is static.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import { isStaticPod } from '../values/pod-kind.js';
import { notLocatedMessage, unknownTermination } from './container-statuses.js';
import { isTerminalPhase } from './phase.js';
import { isRestartableInit } from './restart-rules.js';

/**
 * @param pod with `status` as the API server has it, which alone shows whether the pod has initialized
 * @param last the cached status, else the API's
 */
export function terminatedStatus(pod: Pod, last: PodStatus): PodStatus {
  const { containerStatuses, initContainerStatuses } = last;
  const attempted = initContainerStatuses === undefined ? 0 : attemptedInitContainers(initContainerStatuses);
  return {
    ...last,
    ...(containerStatuses !== undefined && hasPodInitialized(pod) ? { containerStatuses: containerStatuses.map(ended) } : {}),
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses: initContainerStatuses.map((status, index) => (index < attempted ? ended(status) : status)) }),
    ...(isStaticPod(pod) || isTerminalPhase(last.phase) ? {} : { phase: 'Failed' }),
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  return status.state?.terminated !== undefined ? status : { ...status, state: { terminated: unknownTermination(notLocatedMessage) } };
}

/** All but the trailing ones that only ever waited; the first always counts, since the pod did start. */
function attemptedInitContainers(statuses: readonly ContainerStatus[]): number {
  const last = statuses.findLastIndex((status) => status.state?.waiting === undefined || status.lastState?.terminated !== undefined);
  return Math.max(last + 1, 1);
}

function hasPodInitialized(pod: Pod): boolean {
  const initContainers = pod.spec.initContainers ?? [];
  if (initContainers.length === 0) return true;
  const regular = pod.status?.containerStatuses ?? [];
  if (regular.some((status) => status.lastState?.terminated !== undefined || status.state?.waiting === undefined)) return true;
  const statuses = pod.status?.initContainerStatuses ?? [];
  const last = statuses.at(-1);
  const container = initContainers[statuses.length - 1];
  return last !== undefined && container !== undefined && container.name === last.name && isInitDone(container, last);
}

function isInitDone(container: Container, status: ContainerStatus): boolean {
  if (isRestartableInit(container)) return status.state?.running !== undefined && status.started === true;
  return status.state?.terminated?.exitCode === 0 || status.lastState?.terminated?.exitCode === 0;
}
