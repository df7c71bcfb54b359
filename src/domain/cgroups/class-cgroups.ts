// The values of the QoS classes' cgroups, from the requests of all pods, updated as pods are added and removed.
// Invariant: the sums are exactly those of the counted pods; a class's values depend on nothing else.
import type { Pod } from '../../ports/model/pod.js';
import { podRequests } from '../qos/pod-resources.js';
import { podQosClass, type QosClass } from '../qos/qos-class.js';
import { derived } from '../values/derived.js';
import { quantityMilliValue, quantityValue } from '../values/quantity.js';
import { type CgroupConfig, emptyCgroupConfig } from './cgroup-config.js';
import { milliCpuToShares, minShares } from './cpu-conversions.js';
import { tieredReservation } from './memory-qos.js';

export interface ClassSums {
  burstableMilliCpu: bigint;
  readonly memoryBytes: Record<QosClass, bigint>;
}

export interface ClassSettings {
  /** The reservation policy of KEP-2570; null where that is off. */
  readonly memoryReservationPolicy: string | null;
  /** How much of the memory that a class requests the classes below it can't have, in percent; null: they can have it. */
  readonly reservedMemoryPercent: number | null;
  /** What all pods may have together. */
  readonly allocatableMemoryBytes: bigint;
  /** What no class limits: it is limited in the pods. */
  readonly hugePageBytes: readonly bigint[];
}

/** Practically unlimited; the kernel rounds it to whole pages. */
const unlimitedHugePages = 2n ** 62n;

export function newClassSums(): ClassSums {
  return { burstableMilliCpu: 0n, memoryBytes: { Guaranteed: 0n, Burstable: 0n, BestEffort: 0n } };
}

/** @param times 1: added; -1: removed */
export function countPod(sums: ClassSums, pod: Pod, times: 1n | -1n): void {
  const { qosClass, milliCpu, memoryBytes } = requestsOf(pod);
  if (qosClass === 'Burstable') sums.burstableMilliCpu += milliCpu * times;
  sums.memoryBytes[qosClass] += memoryBytes * times;
}

const requestsOf = derived((pod: Pod) => {
  const requests = podRequests(pod);
  const [cpu, memory] = [requests.get('cpu'), requests.get('memory')];
  return { qosClass: podQosClass(pod), milliCpu: cpu === undefined ? 0n : quantityMilliValue(cpu), memoryBytes: memory === undefined ? 0n : quantityValue(memory) };
});

/** Guaranteed pods are directly in the cgroup of all pods, so that class's settings are added to those of the whole. */
export function classCgroupConfigs(sums: ClassSums, settings: ClassSettings): Readonly<Record<QosClass, CgroupConfig>> {
  const { memoryBytes: memory } = sums;
  const { memoryReservationPolicy: policy } = settings;
  const reserved = (bytes: bigint): string => (policy === tieredReservation ? String(bytes) : '0');
  const base = { ...emptyCgroupConfig, hugePageLimits: new Map(settings.hugePageBytes.map((pageBytes) => [pageBytes, unlimitedHugePages])) };
  const limits = memoryLimits(memory, settings);
  return {
    Guaranteed: { ...base, unified: policy === null ? {} : { 'memory.min': reserved(memory.Guaranteed + memory.Burstable) } },
    Burstable: {
      ...base,
      cpuShares: milliCpuToShares(Number(sums.burstableMilliCpu)),
      memoryBytes: limits.Burstable,
      unified: policy === null ? {} : { 'memory.low': reserved(memory.Burstable) },
    },
    BestEffort: { ...base, cpuShares: minShares, memoryBytes: limits.BestEffort },
  };
}

/** The rest for a class after the requests of higher classes. No rest is written as one byte: 0 would remove the limit. */
function memoryLimits(
  memory: ClassSums['memoryBytes'],
  { reservedMemoryPercent, allocatableMemoryBytes }: ClassSettings,
): { readonly [Class in 'Burstable' | 'BestEffort']: bigint | null } {
  if (reservedMemoryPercent === null || allocatableMemoryBytes === 0n) return { Burstable: null, BestEffort: null };
  const share = (bytes: bigint): bigint => (bytes * BigInt(reservedMemoryPercent)) / 100n;
  const burstable = allocatableMemoryBytes - share(memory.Guaranteed);
  return { Burstable: atLeastOne(burstable), BestEffort: atLeastOne(burstable - share(memory.Burstable)) };
}

function atLeastOne(bytes: bigint): bigint {
  return bytes > 0n ? bytes : 1n;
}
