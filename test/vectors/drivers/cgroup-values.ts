// cgroup-values: conversions of CPU amounts, and what pod and QoS cgroups are set to.
import type { CgroupConfig } from '../../../src/domain/cgroups/cgroup-config.js';
import { cgroupFiles } from '../../../src/domain/cgroups/cgroup-files.js';
import * as cpu from '../../../src/domain/cgroups/cpu-conversions.js';
import { hugePageUnit } from '../../../src/domain/cgroups/huge-page-sizes.js';
import { podCgroupConfig, qosCgroupConfigs } from '../../../src/domain/cgroups/pod-cgroup-config.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly op: string;
  readonly milliCpu: number;
  readonly periodMicros: number;
  readonly shares: number;
  readonly weight: number;
  readonly quotaMicros: number;
  readonly bytes: string;
  readonly pod: Pod;
  readonly pods: readonly Pod[];
  readonly cgroupVersion: 1 | 2;
  readonly enforceCpuLimits: boolean;
  readonly cpuPeriodMicros: number;
  readonly podPidsLimit: number;
  readonly hostHugePageSizes: readonly string[];
  readonly memoryQos?: boolean;
  readonly memoryReservationPolicy?: string;
}

const operations: Readonly<Record<string, (input: Input) => unknown>> = {
  milliCpuToShares: ({ milliCpu }) => ({ shares: cpu.milliCpuToShares(milliCpu) }),
  milliCpuToQuota: ({ milliCpu, periodMicros }) => ({ quotaMicros: cpu.milliCpuToQuota(milliCpu, periodMicros) }),
  sharesToWeight: ({ shares }) => ({ podWeight: cpu.sharesToPodWeight(shares), containerWeight: cpu.sharesToContainerWeight(shares) }),
  weightToShares: ({ weight }) => ({ shares: cpu.podWeightToShares(weight) }),
  sharesToMilliCpu: ({ shares }) => ({ milliCpu: cpu.sharesToMilliCpu(shares) }),
  quotaToMilliCpu: ({ quotaMicros, periodMicros }) => ({ milliCpu: cpu.quotaToMilliCpu(quotaMicros, periodMicros) }),
  hugePageUnit({ bytes }) {
    const unit = hugePageUnit(BigInt(bytes));
    return unit.ok ? { unit: unit.unit } : { error: unit.message };
  },
  podCgroup(input) {
    const policy = input.memoryQos === true ? (input.memoryReservationPolicy ?? '') : null;
    const config = podCgroupConfig(input.pod, { ...input, memoryReservationPolicy: policy });
    const files = cgroupFiles(config, input.cgroupVersion, input.hostHugePageSizes);
    return { config: shown(config), files: Object.fromEntries(files.map(({ name, text }) => [name, text])) };
  },
  qosCgroups({ pods, memoryReservationPolicy = '' }) {
    const configs = Object.entries(qosCgroupConfigs(pods, memoryReservationPolicy));
    return Object.fromEntries(configs.map(([qosClass, config]) => [qosClass, shown(config)]));
  },
};

/** Fields that are set. */
function shown(config: CgroupConfig): unknown {
  const { hugePageLimits, unified, memoryBytes, ...numbers } = config;
  return {
    ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== null)),
    ...(memoryBytes === null ? {} : { memoryBytes: String(memoryBytes) }),
    ...(hugePageLimits.size === 0 ? {} : { hugePageLimits: Object.fromEntries([...hugePageLimits].map(([size, limit]) => [String(size), String(limit)])) }),
    ...(Object.keys(unified).length === 0 ? {} : { unified }),
  };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const operation = operations[input.op];
    if (operation === undefined) throw new Error(`unknown operation ${input.op}`);
    return operation(input);
  },
};
