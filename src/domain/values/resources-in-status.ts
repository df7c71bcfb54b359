// Converts a container's cgroup values back to API quantities for the pod's status.
// Invariant: shares round up, so that a request converted to shares converts back to itself.
import type { RuntimeContainerResources } from '../../ports/model/runtime-status.js';
import type { LinuxContainerResources } from '../../ports/model/sandbox-config.js';
import { milliQuantityOf, quantityOf, quantityText } from './quantity.js';

/** Zero and absent mean "not reported"; a memory request leaves no trace in a cgroup. */
export function resourcesInStatus({ cpuPeriod = 0, cpuQuota = 0, cpuShares = 0, memoryLimitInBytes = 0 }: LinuxContainerResources): RuntimeContainerResources {
  return {
    cpuRequest: cpuShares >= 2 ? quantityText(milliQuantityOf(Math.ceil((cpuShares * 1_000) / 1_024))) : null,
    cpuLimit: cpuPeriod > 0 && cpuQuota > 0 ? quantityText(milliQuantityOf(Math.floor((cpuQuota * 1_000) / cpuPeriod))) : null,
    memoryRequest: null,
    memoryLimit: memoryLimitInBytes > 0 ? quantityText(quantityOf(memoryLimitInBytes, 'BinarySI')) : null,
  };
}
