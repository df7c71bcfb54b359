// linux-container-resources: the resources of a container and a sandbox, and their values read back from a runtime.
import { linuxContainerResources, linuxSandboxOverhead, linuxSandboxResources, reportedResources } from '../../../src/domain/cgroups/linux-container-resources.js';
import type { ResourceFacts } from '../../../src/domain/cgroups/resource-facts.js';
import { parseGoDuration } from '../../../src/domain/values/go-duration.js';
import { milliQuantityOf, mustParseQuantity, quantityOf, quantityText, quantityValue } from '../../../src/domain/values/quantity.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { LinuxContainerResources } from '../../../src/ports/model/sandbox-config.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly op: 'container' | 'sandbox' | 'readBack';
  readonly node: {
    readonly cgroupVersion: 1 | 2;
    readonly memoryBytes: string;
    readonly swapBytes: string;
    readonly swapControllerAvailable: boolean;
    readonly hugePageSizes: readonly string[];
    readonly allocatableMemory: string;
  };
  readonly config: {
    readonly cpuCFSQuota: boolean;
    readonly cpuCFSQuotaPeriod: string;
    readonly swapBehavior: string;
    readonly singleProcessOOMKill: boolean | null;
    readonly memoryQoS?: boolean;
    readonly memoryReservationPolicy?: string;
    readonly memoryThrottlingFactor?: number;
  };
  readonly exclusiveCpus?: boolean;
  readonly pod: Pod;
  readonly container: string;
  readonly resources: Readonly<Record<string, number>>;
}

export const driver: VectorDriver = {
  run(input: Input) {
    if (input.op === 'readBack') return readBack(input.resources);
    const facts = resourceFacts(input);
    const options = { exclusiveCpus: input.exclusiveCpus === true };
    const { pod } = input;
    if (input.op === 'sandbox') return { resources: shown(linuxSandboxResources(pod, facts, options)), overhead: shown(linuxSandboxOverhead(pod, facts)) };
    const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((candidate) => candidate.name === input.container)!;
    return shown(linuxContainerResources(pod, container, facts, options));
  },
};

function bytes(text: string): number {
  return Number(quantityValue(mustParseQuantity(text)));
}

function resourceFacts({ node, config }: Input): ResourceFacts {
  return {
    cgroupVersion: node.cgroupVersion,
    machineMemoryBytes: bytes(node.memoryBytes),
    cpuCfsQuota: config.cpuCFSQuota,
    cpuCfsQuotaPeriod: parseGoDuration(config.cpuCFSQuotaPeriod)!,
    singleProcessOomKill: config.singleProcessOOMKill ?? true,
    hugePageSizes: node.hugePageSizes,
    swap: { behavior: config.swapBehavior, bytes: bytes(node.swapBytes), controllerAvailable: node.swapControllerAvailable },
    memoryQos:
      config.memoryQoS === true
        ? {
            reservationPolicy: config.memoryReservationPolicy ?? '',
            throttlingFactor: config.memoryThrottlingFactor ?? 0,
            allocatableMemoryBytes: node.allocatableMemory === '' ? null : bytes(node.allocatableMemory),
            memoryPageBytes: 4096,
          }
        : null,
  };
}

function shown(resources: LinuxContainerResources): unknown {
  const { cpuShares = 0, cpuQuota = 0, cpuPeriod = 0, memoryLimitInBytes = 0, oomScoreAdj = 0, memorySwapLimitInBytes = 0, unified, hugepageLimits = [] } = resources;
  return {
    cpu_shares: cpuShares,
    cpu_quota: cpuQuota,
    cpu_period: cpuPeriod,
    memory_limit_in_bytes: memoryLimitInBytes,
    oom_score_adj: oomScoreAdj,
    ...(memorySwapLimitInBytes === 0 ? {} : { memory_swap_limit_in_bytes: memorySwapLimitInBytes }),
    ...(unified === undefined ? {} : { unified }),
    ...(hugepageLimits.length === 0 ? {} : { hugepage_limits: hugepageLimits.map(({ pageSize, limit }) => ({ page_size: pageSize, limit })) }),
  };
}

function readBack(resources: Input['resources']): unknown {
  const read = reportedResources({
    cpuShares: resources['cpu_shares'] ?? 0,
    cpuQuota: resources['cpu_quota'] ?? 0,
    cpuPeriod: resources['cpu_period'] ?? 0,
    memoryLimitInBytes: resources['memory_limit_in_bytes'] ?? 0,
  });
  return {
    ...(read.milliCpuRequest === null ? {} : { cpuRequest: quantityText(milliQuantityOf(read.milliCpuRequest)) }),
    ...(read.milliCpuLimit === null ? {} : { cpuLimit: quantityText(milliQuantityOf(read.milliCpuLimit)) }),
    ...(read.memoryLimitBytes === null ? {} : { memoryLimit: quantityText(quantityOf(read.memoryLimitBytes, 'BinarySI')) }),
  };
}
