// No runtime reports a container's memory request, which the kernel doesn't have: the last value actuated replaces it.
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { ActuatedResources } from '../pod-sync/container-resize.js';

export function withActuatedMemory(runtime: PodRuntimeStatus, { containers }: ActuatedResources): PodRuntimeStatus {
  if (containers.size === 0) return runtime;
  let isAny = false;
  const shown = runtime.containers.map((status) => {
    const memoryRequest = status.state === 'running' ? containers.get(status.name)?.requests?.memory : undefined;
    if (memoryRequest === undefined || status.resources === null) return status;
    isAny = true;
    return { ...status, resources: { ...status.resources, memoryRequest } };
  });
  return isAny ? { ...runtime, containers: shown } : runtime;
}
