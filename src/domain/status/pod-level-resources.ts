// `resources` and `allocatedResources` of a pod's status: the allocation of the whole pod, and its cgroup's actual values.
// Invariant: an unreadable value keeps the previous report, or the spec's request; it is never empty.
import type { ResourceList, ResourceRequirements } from '../../ports/model/container.js';
import type { Quantity } from '../../ports/model/object-meta.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import { podLimits, podRequests, resourceListOf } from '../qos/pod-resources.js';
import { derived } from '../values/derived.js';
import { milliQuantityOf, quantityOf, quantityText } from '../values/quantity.js';
import { actualCpuOrNone, canonicalResourceList, leastCpuMillis } from './container-resources.js';

/** Values read back from the pod's cgroup; null where one could not be read. */
export interface PodCgroupReading {
  readonly cpuShares: number | null;
  readonly cpuQuotaMicros: number | null;
  readonly cpuPeriodMicros: number | null;
  readonly memoryLimitBytes: number | null;
}

/** The pod's requests as allocated, overhead included. */
export const podAllocatedResources = derived((pod: Pod): ResourceList => resourceListOf(podRequests(pod)));

const specifiedResources = derived((pod: Pod): ResourceRequirements => withLists(pod, podAllocatedResources(pod), resourceListOf(podLimits(pod))));

/** @param previous the status before this one: cached, else the API's */
export function podActualResources(pod: Pod, previous: PodStatus, cgroup: PodCgroupReading): ResourceRequirements {
  if (pod.status?.phase !== 'Running') return specifiedResources(pod);
  const reported = previous.phase === 'Running' ? previous.resources : undefined;
  const requests: Record<string, Quantity> = canonicalResourceList(pod.spec.resources?.requests ?? {});
  const limits: Record<string, Quantity> = canonicalResourceList(pod.spec.resources?.limits ?? {});

  set(requests, 'cpu', cpuOf(requests.cpu, cpuRequestOf(cgroup), reported?.requests?.cpu, leastCpuMillis.request));
  // The kernel has no memory request that could be read back.
  const aggregated = podRequests(pod).get('memory');
  set(requests, 'memory', reported?.requests?.memory ?? requests.memory ?? (aggregated === undefined ? undefined : quantityText(aggregated)));
  set(limits, 'cpu', cpuOf(limits.cpu, cpuLimitOf(cgroup), reported?.limits?.cpu, leastCpuMillis.limit));
  set(limits, 'memory', memoryLimitOf(cgroup) ?? reported?.limits?.memory);
  return withLists(pod, requests, limits);
}

function cpuOf(allocated: Quantity | undefined, actual: Quantity | null, reported: Quantity | undefined, leastMillis: bigint): Quantity | undefined {
  return actual === null ? reported : actualCpuOrNone(allocated, actual, leastMillis);
}

/** 1024 shares are one cpu; fewer than the kernel's minimum of 2 mean no request. */
function cpuRequestOf({ cpuShares }: PodCgroupReading): Quantity | null {
  if (cpuShares === null) return null;
  return quantityText(milliQuantityOf(cpuShares < 2 ? 0 : Math.ceil((cpuShares * 1000) / 1024)));
}

function cpuLimitOf({ cpuQuotaMicros, cpuPeriodMicros }: PodCgroupReading): Quantity | null {
  if (cpuQuotaMicros === null || cpuPeriodMicros === null || cpuQuotaMicros <= 0 || cpuPeriodMicros <= 0) return null;
  return quantityText(milliQuantityOf(Math.floor((cpuQuotaMicros * 1000) / cpuPeriodMicros)));
}

function memoryLimitOf({ memoryLimitBytes }: PodCgroupReading): Quantity | undefined {
  return memoryLimitBytes === null || memoryLimitBytes === 0 ? undefined : quantityText(quantityOf(memoryLimitBytes, 'BinarySI'));
}

function set(list: Record<string, Quantity>, name: string, value: Quantity | undefined): void {
  if (value !== undefined) list[name] = value;
}

function withLists(pod: Pod, requests: ResourceList, limits: ResourceList): ResourceRequirements {
  return { ...pod.spec.resources, requests, limits };
}
