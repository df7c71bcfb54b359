// The resources in a container status: the allocated ones, overlaid with the runtime's.
// Invariant: only the sides (limits, requests) that the spec fills appear.
import type { Container, ResourceList, ResourceRequirements } from '../../ports/model/container.js';
import type { Quantity } from '../../ports/model/object-meta.js';
import type { ContainerStatus } from '../../ports/model/pod-status.js';
import type { RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { mustParseQuantity, quantityMilliValue, quantityText } from '../values/quantity.js';

/** The kernel gives no fewer cpu shares than 2, which read back as 2m. */
const leastCpuRequestMillis = 2n;
/** A cpu quota below 1 ms per 100 ms is not given to the kernel. */
const leastCpuLimitMillis = 10n;

/** @param previous the container's status before this one; null when it had none */
export function containerResources(container: Container, runtime: RuntimeContainerStatus, containerId: string, previous: ContainerStatus | null): ResourceRequirements | null {
  const allocated = container.resources;
  if (allocated === undefined) return null;
  if (runtime.state !== 'running') return canonicalRequirements(allocated);
  // The previous report of the same running container replaces values that the runtime no longer reports.
  const reported = previous?.state?.running !== undefined && previous.containerID === containerId ? previous.resources : undefined;
  const { limits, requests } = allocated;
  return {
    ...canonicalRequirements(allocated),
    ...(isFilled(limits)
      ? {
          limits: withValues(limits, {
            cpu: cpuValue(limits, runtime.resources?.cpuLimit, reported?.limits, leastCpuLimitMillis),
            memory: runtime.resources?.memoryLimit ?? reported?.limits?.memory,
          }),
        }
      : {}),
    ...(isFilled(requests)
      ? {
          requests: withValues(requests, {
            cpu: cpuValue(requests, runtime.resources?.cpuRequest, reported?.requests, leastCpuRequestMillis),
            memory: runtime.resources?.memoryRequest ?? reported?.requests?.memory,
          }),
        }
      : {}),
  };
}

/** The amounts in the text that the API gives them back in, e.g. `1` for `1000m`. */
export function canonicalResourceList(list: ResourceList): ResourceList {
  return Object.fromEntries(Object.entries(list).map(([name, amount]) => [name, quantityText(mustParseQuantity(amount))]));
}

/**
 * The cpu value to report, or undefined to keep the allocated one. If both the allocated and the actual value are at or below the kernel's minimum, the allocated
 * one is reported, since the difference is rounding.
 */
export function actualCpuOrNone(allocated: Quantity | undefined, actual: Quantity, leastMillis: bigint): Quantity | undefined {
  const allocatedMillis = allocated === undefined ? 0n : quantityMilliValue(mustParseQuantity(allocated));
  return quantityMilliValue(mustParseQuantity(actual)) > leastMillis || allocatedMillis > leastMillis ? actual : undefined;
}

export const leastCpuMillis = { request: leastCpuRequestMillis, limit: leastCpuLimitMillis } as const;

function cpuValue(allocated: ResourceList, actual: Quantity | null | undefined, reported: ResourceList | undefined, leastMillis: bigint): Quantity | undefined {
  if (actual === null || actual === undefined) return reported?.cpu;
  return actualCpuOrNone(allocated.cpu, actual, leastMillis);
}

function canonicalRequirements(requirements: ResourceRequirements): ResourceRequirements {
  const { limits, requests } = requirements;
  return {
    ...requirements,
    ...(limits === undefined ? {} : { limits: canonicalResourceList(limits) }),
    ...(requests === undefined ? {} : { requests: canonicalResourceList(requests) }),
  };
}

function isFilled(list: ResourceList | undefined): list is ResourceList {
  return list !== undefined && Object.keys(list).length > 0;
}

function withValues(list: ResourceList, values: Readonly<Record<'cpu' | 'memory', Quantity | undefined>>): ResourceList {
  return {
    ...canonicalResourceList(list),
    ...(values.cpu === undefined ? {} : { cpu: values.cpu }),
    ...(values.memory === undefined ? {} : { memory: values.memory }),
  };
}
