// The values of the cgroups of a pod and of the QoS classes.
// Invariant: a pod's cgroup limits a resource only if all of the pod is limited in it; otherwise the limit would affect unlimited containers.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { podLimits, podRequests, type Quantities } from '../qos/pod-resources.js';
import { podQosClass, type QosClass } from '../qos/qos-class.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { isZeroQuantity, mustParseQuantity, quantityMilliValue, quantityValue } from '../values/quantity.js';
import { type CgroupConfig, emptyCgroupConfig } from './cgroup-config.js';
import { classCgroupConfigs, countPod, newClassSums } from './class-cgroups.js';
import { milliCpuToQuota, milliCpuToShares, minShares, unlimitedQuota } from './cpu-conversions.js';
import { hugePageBytes } from './huge-page-sizes.js';
import { reservationFile, tieredReservation } from './memory-qos.js';
import type { ResourceFacts } from './resource-facts.js';

export interface PodCgroupOptions {
  /** Whether CPU limits are enforced: off without CFS quota, and for pods with CPUs of their own. */
  readonly enforceCpuLimits: boolean;
  readonly cpuPeriodMicros: number;
  /** Only above 0. */
  readonly podPidsLimit: number;
  /** The reservation policy of KEP-2570; null if disabled, as on cgroup v1. */
  readonly memoryReservationPolicy: string | null;
}

/** @param exclusiveCpus whether CPUs are reserved for a container of the pod */
export function podCgroupOptions(node: ResourceFacts & { readonly podPidsLimit: number }, exclusiveCpus: boolean): PodCgroupOptions {
  return {
    enforceCpuLimits: node.cpuCfsQuota && !exclusiveCpus,
    cpuPeriodMicros: node.cpuCfsQuotaPeriod,
    podPidsLimit: node.podPidsLimit,
    memoryReservationPolicy: node.cgroupVersion === 2 ? (node.memoryQos?.reservationPolicy ?? null) : null,
  };
}

type Limited = 'cpu' | 'memory';

/** @param pod as allocated to the node */
export function podCgroupConfig(pod: Pod, options: PodCgroupOptions): CgroupConfig {
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  const memoryRequest = bytesOf(requests, 'memory');
  const reserves = options.memoryReservationPolicy === tieredReservation && memoryRequest > 0n;
  return {
    ...emptyCgroupConfig,
    ...classLimits(pod, milliOf(requests, 'cpu'), limits, options),
    pidsLimit: options.podPidsLimit > 0 ? options.podPidsLimit : null,
    hugePageLimits: hugePageLimits(requests),
    unified: reserves ? { [reservationFile(pod)]: String(memoryRequest) } : {},
  };
}

function classLimits(pod: Pod, milliCpuRequest: number, limits: Quantities, options: PodCgroupOptions): Partial<CgroupConfig> {
  const cpu = {
    cpuQuotaMicros: options.enforceCpuLimits ? milliCpuToQuota(milliOf(limits, 'cpu'), options.cpuPeriodMicros) : unlimitedQuota,
    cpuPeriodMicros: options.cpuPeriodMicros,
  };
  const memory = { memoryBytes: bytesOf(limits, 'memory') };
  const cpuShares = milliCpuToShares(milliCpuRequest);
  switch (podQosClass(pod)) {
    case 'Guaranteed':
      return { cpuShares, ...cpu, ...memory };
    case 'Burstable':
      return { cpuShares, ...(allLimited(pod, 'cpu') ? cpu : {}), ...(allLimited(pod, 'memory') ? memory : {}) };
    case 'BestEffort':
      return { cpuShares: minShares };
  }
}

/** Whether the pod as a whole is limited, or each of its containers. An init container runs beside the sidecars before it: one of their limits will do. */
export function allLimited(pod: Pod, name: Limited): boolean {
  if (isLimited(pod.spec, name)) return true;
  if (!pod.spec.containers.every((container) => isLimited(container, name))) return false;
  let besideLimited = false;
  for (const init of pod.spec.initContainers ?? []) {
    if (!besideLimited && !isLimited(init, name)) return false;
    besideLimited ||= isRestartableInit(init);
  }
  return true;
}

function isLimited(unit: Pick<Container, 'resources'>, name: Limited): boolean {
  const limit = unit.resources?.limits?.[name];
  return limit !== undefined && !isZeroQuantity(mustParseQuantity(limit));
}

function hugePageLimits(requests: Quantities): ReadonlyMap<bigint, bigint> {
  const limits = new Map<bigint, bigint>();
  for (const [name, amount] of requests) {
    const pageBytes = hugePageBytes(name);
    // Two names may be one size: `hugepages-2Mi` and `hugepages-2048Ki`.
    if (pageBytes !== null) limits.set(pageBytes, (limits.get(pageBytes) ?? 0n) + quantityValue(amount));
  }
  return limits;
}

/**
 * The values of the classes' own cgroups, from all pods on the node.
 * @param memoryReservationPolicy of KEP-2570; null if disabled
 */
export function qosCgroupConfigs(pods: readonly Pod[], memoryReservationPolicy: string | null): Readonly<Record<QosClass, CgroupConfig>> {
  const sums = newClassSums();
  for (const pod of pods) countPod(sums, pod, 1n);
  return classCgroupConfigs(sums, { memoryReservationPolicy, reservedMemoryPercent: null, allocatableMemoryBytes: 0n, hugePageBytes: [] });
}

function milliOf(list: Quantities, name: Limited): number {
  const amount = list.get(name);
  return amount === undefined ? 0 : Number(quantityMilliValue(amount));
}

function bytesOf(list: Quantities, name: Limited): bigint {
  const amount = list.get(name);
  return amount === undefined ? 0n : quantityValue(amount);
}
