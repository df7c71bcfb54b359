// CPU, memory, huge pages and swap of a container, and of a whole sandbox, for the runtime: LinuxContainerResources of the CRI.
// Invariant: 0 means "not set" for the runtime, so a missing limit is 0 or absent, never -1; -1 only lifts the CPU quota.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { LinuxContainerResources } from '../../ports/model/sandbox-config.js';
import { oomScoreAdjust } from '../qos/oom-score.js';
import { parsedList, podLimits, podRequests, type Quantities } from '../qos/pod-resources.js';
import { quantityMilliValue, quantityValue } from '../values/quantity.js';
import { milliCpuToQuota, milliCpuToShares, quotaToMilliCpu, sharesToMilliCpu, unlimitedQuota } from './cpu-conversions.js';
import { hugePageUnitOf } from './huge-page-sizes.js';
import { memoryQosKeys } from './memory-qos.js';
import type { ResourceFacts } from './resource-facts.js';
import { swapSettings } from './swap.js';

/** The largest number below 2^63 that a double holds: an int64 field of the CRI takes no more. */
const maxAmount = 2 ** 63 - 1024;

export interface ExclusiveCpus {
  /** Whether CPUs are reserved for it alone; a quota would throttle it on its own CPUs. */
  readonly exclusiveCpus?: boolean;
}

/** Limits that the container lacks come from the pod level. */
export function linuxContainerResources(pod: Pod, container: Container, facts: ResourceFacts, options: ExclusiveCpus = {}): LinuxContainerResources {
  const limits = parsedList(container.resources?.limits);
  const podLevel = parsedList(pod.spec.resources?.limits);
  const basic = basicResources(
    milliCpu(parsedList(container.resources?.requests)),
    (milliCpu(limits) ?? 0) || (milliCpu(podLevel) ?? 0),
    memoryBytes(limits) || memoryBytes(podLevel),
    facts,
    options,
  );
  const swap = swapSettings(pod, container, basic.memoryLimitInBytes ?? 0, facts);
  const unified = { ...basic.unified, ...swap.unified, ...memoryQosKeys(pod, container, facts) };
  return {
    oomScoreAdj: oomScoreAdjust(pod, container, BigInt(facts.machineMemoryBytes)),
    hugepageLimits: hugePageLimits([podLevel, limits], facts.hugePageSizes),
    ...basic,
    ...(swap.memorySwapLimitInBytes === undefined ? {} : { memorySwapLimitInBytes: swap.memorySwapLimitInBytes }),
    ...(Object.keys(unified).length === 0 ? {} : { unified }),
  };
}

/** The pod's totals, which a runtime needs to size a sandbox that is a virtual machine. Overhead is separate. */
export function linuxSandboxResources(pod: Pod, facts: ResourceFacts, options: ExclusiveCpus = {}): LinuxContainerResources {
  const requests = podRequests(pod, { excludeOverhead: true });
  const limits = podLimits(pod, { excludeOverhead: true });
  return basicResources(milliCpu(requests), milliCpu(limits) ?? 0, memoryBytes(limits), facts, options);
}

/** The sandbox's own cost, as request and limit; empty if the pod has no overhead. */
export function linuxSandboxOverhead(pod: Pod, facts: ResourceFacts): LinuxContainerResources {
  if (pod.spec.overhead === undefined) return {};
  const overhead = parsedList(pod.spec.overhead);
  return basicResources(milliCpu(overhead), milliCpu(overhead) ?? 0, memoryBytes(overhead), facts, {});
}

export interface ReportedResources {
  readonly milliCpuRequest: number | null;
  readonly milliCpuLimit: number | null;
  readonly memoryLimitBytes: number | null;
}

/** A container's resources as the runtime reports them; null is unknown, since the runtime's 0 is "not set". */
export function reportedResources(resources: LinuxContainerResources): ReportedResources {
  const period = resources.cpuPeriod ?? 0;
  const quota = resources.cpuQuota ?? 0;
  const request = sharesToMilliCpu(resources.cpuShares ?? 0);
  const milliCpuLimit = quota > 0 ? quotaToMilliCpu(quota, period) : 0;
  const limit = resources.memoryLimitInBytes ?? 0;
  return {
    milliCpuRequest: request > 0 ? request : null,
    milliCpuLimit: milliCpuLimit > 0 ? milliCpuLimit : null,
    memoryLimitBytes: limit > 0 ? limit : null,
  };
}

/** @param cpuRequest null if absent: then the limit determines the shares; an explicit 0 is the minimum */
function basicResources(cpuRequest: number | null, cpuLimit: number, memoryLimit: number, facts: ResourceFacts, options: ExclusiveCpus): LinuxContainerResources {
  const period = facts.cpuCfsQuotaPeriod;
  const quota = options.exclusiveCpus === true ? unlimitedQuota : Math.min(milliCpuToQuota(cpuLimit, period), maxAmount);
  return {
    cpuShares: milliCpuToShares(cpuRequest ?? cpuLimit),
    ...(memoryLimit === 0 ? {} : { memoryLimitInBytes: memoryLimit }),
    ...(facts.cpuCfsQuota ? { cpuPeriod: period, cpuQuota: quota } : {}),
    ...(facts.cgroupVersion === 2 && !facts.singleProcessOomKill ? { unified: { 'memory.oom.group': '1' } } : {}),
  };
}

function milliCpu(list: Quantities): number | null {
  const cpu = list.get('cpu');
  return cpu === undefined ? null : Math.min(Number(quantityMilliValue(cpu)), maxAmount);
}

function memoryBytes(list: Quantities): number {
  const memory = list.get('memory');
  return memory === undefined ? 0 : Math.min(Number(quantityValue(memory)), maxAmount);
}

/** One entry for each size of the host, 0 without a request; later lists override earlier ones. */
function hugePageLimits(lists: readonly Quantities[], sizes: readonly string[]): { pageSize: string; limit: number }[] {
  const wanted = new Map<string, number>();
  for (const list of lists) {
    for (const [name, amount] of list) {
      const unit = hugePageUnitOf(name);
      if (unit !== null) wanted.set(unit, Math.min(Number(quantityValue(amount)), maxAmount));
    }
  }
  return sizes.map((pageSize) => ({ pageSize, limit: wanted.get(pageSize) ?? 0 }));
}
