// `started` belongs to one container: a restarted container has not passed its startup probe (docs/differences.md).
// The status computation itself copies `started` by container name, as the Go kubelet does, so values of another container are removed first.
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';

/** The status without `started` of containers that the runtime has replaced; the same object if none. */
export function withoutStaleStarted(status: PodStatus, runtime: PodRuntimeStatus): PodStatus {
  const regular = current(status.containerStatuses, runtime);
  const init = current(status.initContainerStatuses, runtime);
  if (regular === status.containerStatuses && init === status.initContainerStatuses) return status;
  return { ...status, ...(regular === undefined ? {} : { containerStatuses: regular }), ...(init === undefined ? {} : { initContainerStatuses: init }) };
}

function current(statuses: readonly ContainerStatus[] | undefined, runtime: PodRuntimeStatus): readonly ContainerStatus[] | undefined {
  if (statuses === undefined || !statuses.some((status) => isStale(status, runtime))) return statuses;
  return statuses.map((status) => {
    if (!isStale(status, runtime)) return status;
    const { started: _, ...rest } = status;
    return rest;
  });
}

function isStale({ name, started, containerID = '' }: ContainerStatus, runtime: PodRuntimeStatus): boolean {
  if (started !== true) return false;
  const newest = runtime.containers.find((container) => container.name === name);
  return newest !== undefined && !containerID.endsWith(`//${newest.id}`);
}

/** The status without the reported `started` value of any container. */
export function withoutStarted(status: PodStatus): PodStatus {
  const without = (statuses: readonly ContainerStatus[]): readonly ContainerStatus[] => statuses.map(({ started: _, ...rest }) => rest);
  const { containerStatuses, initContainerStatuses } = status;
  return {
    ...status,
    ...(containerStatuses === undefined ? {} : { containerStatuses: without(containerStatuses) }),
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses: without(initContainerStatuses) }),
  };
}
