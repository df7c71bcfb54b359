// The numbers of the summary as in the reference: an unmeasured value is 0, and a time of 0 is 1970-01-01T00:00:00Z.
import type { Instant } from '../../ports/instant.js';
import type { CgroupSample } from '../../ports/model/cgroup-sample.js';
import type { RuntimeContainerReading } from '../../ports/model/node-measurements.js';
import type { ContainerStats } from '../../ports/model/stats-summary.js';
import { formatRfc3339 } from '../values/time.js';
import { type CgroupStats, cgroupStats } from './cgroup-stats.js';
import { runtimeCpuAndMemory, runtimeStats } from './runtime-stats.js';

type OfRuntime = (name: string, createdAt: Instant, reading: RuntimeContainerReading, wall: Instant) => ContainerStats;

/** How numbers of cgroups and of the runtime become parts of the summary. */
export interface SummaryNumbers {
  /** null: not set. */
  readonly time: (time: Instant) => string | null;
  readonly ofCgroup: (sample: CgroupSample) => CgroupStats;
  readonly ofRuntime: OfRuntime;
  readonly cpuAndMemoryOfRuntime: OfRuntime;
  /** For a pod without a cgroup reading: the sum of its containers. */
  readonly sum: (containers: readonly ContainerStats[]) => CgroupStats;
}

export const referenceNumbers: SummaryNumbers = {
  time: formatRfc3339,
  ofCgroup: cgroupStats,
  ofRuntime: runtimeStats,
  cpuAndMemoryOfRuntime: runtimeCpuAndMemory,
  sum: summed,
};

/** Missing numbers are shown as 0. Pressure can't be summed. */
function summed(containers: readonly ContainerStats[]): CgroupStats {
  const last = containers.at(-1);
  if (last === undefined) return {};
  const io = last.io?.time === undefined ? {} : { io: { time: last.io.time } };
  return {
    cpu: { ...timeOf(last.cpu), ...sums(containers, 'cpu', ['usageNanoCores', 'usageCoreNanoSeconds']) },
    memory: { ...timeOf(last.memory), ...sums(containers, 'memory', ['availableBytes', 'usageBytes', 'workingSetBytes', 'rssBytes', 'pageFaults', 'majorPageFaults']) },
    swap: { ...timeOf(last.swap), ...sums(containers, 'swap', ['swapAvailableBytes', 'swapUsageBytes']) },
    ...io,
  };
}

function timeOf(part: { readonly time?: string } | undefined): { readonly time?: string } {
  return part?.time === undefined ? {} : { time: part.time };
}

function sums(containers: readonly ContainerStats[], part: 'cpu' | 'memory' | 'swap', fields: readonly string[]): Readonly<Record<string, number>> {
  const amount = (container: ContainerStats, field: string): number => Number((container[part] as Readonly<Record<string, unknown>> | undefined)?.[field] ?? 0);
  return Object.fromEntries(fields.map((field) => [field, containers.reduce((total, container) => total + amount(container, field), 0)]));
}
