// The parts of the stats summary that one cgroup gives.
// Invariant: a number is there only when it was read or is known to be 0; free amounts may be negative after a limit was lowered.
import type { Micros } from '../../ports/micros.js';
import type { ContainerStats, CpuStats, IoStats, MemoryStats, NetworkStats, PsiStats, SwapStats } from '../../ports/model/stats-summary.js';
import { formatRfc3339 } from '../values/time.js';
import type { CgroupReading, CgroupSample } from './cgroup-sample.js';

export interface CgroupStats {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
  readonly io?: IoStats;
}

/** The interface whose numbers stand for all of a pod. */
const defaultInterface = 'eth0';
/** The kernel writes "no limit" as a number beyond any memory. */
const unlimitedAbove = 2n ** 62n;
const noPressure = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
const noPressures: PsiStats = { full: noPressure, some: noPressure };

/** Empty when nothing was read yet. */
export function cgroupStats(sample: CgroupSample): CgroupStats {
  const { reading } = sample;
  if (reading === null) return {};
  const time = formatRfc3339(reading.time);
  const { cpu, memory, pressure } = reading;
  const cpuNumbers = sample.hasCpu && cpu !== null;
  const io = sample.hasDiskIo && reading.diskIo ? { io: { time, psi: pressure?.io ?? noPressures } } : {};
  return {
    cpu: {
      time,
      usageNanoCores: cpuNumbers ? (cpu.usageNanoCores ?? 0) : 0,
      usageCoreNanoSeconds: cpuNumbers ? cpu.usageCoreNanoSeconds : 0,
      ...(cpuNumbers ? { psi: pressure?.cpu ?? noPressures } : {}),
    },
    ...(sample.hasMemory && memory !== null ? memoryParts(sample, reading, memory) : { memory: { time, workingSetBytes: 0 } }),
    ...io,
  };
}

function memoryParts(sample: CgroupSample, { time: at, pressure }: CgroupReading, memory: NonNullable<CgroupReading['memory']>): CgroupStats {
  const time = formatRfc3339(at);
  const { usageBytes, workingSetBytes, rssBytes, swapBytes, pageFaults, majorPageFaults } = memory;
  const availableBytes = free(sample.memoryLimitBytes, workingSetBytes);
  const swapAvailableBytes = free(sample.swapLimitBytes, swapBytes);
  return {
    memory: {
      ...{ time, usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults },
      ...(availableBytes === null ? {} : { availableBytes }),
      psi: pressure?.memory ?? noPressures,
    },
    swap: { time, swapUsageBytes: swapBytes, ...(swapAvailableBytes === null ? {} : { swapAvailableBytes }) },
  };
}

/** null: there is no limit to be free up to. */
function free(limit: bigint | null, used: number): number | null {
  return limit === null || limit > unlimitedAbove ? null : Number(limit - BigInt(used));
}

/** null when it has no network of its own, or nothing was read. */
export function cgroupNetwork({ hasNetwork, reading }: CgroupSample): NetworkStats | null {
  if (!hasNetwork || reading === null) return null;
  const interfaces = reading.network;
  const main = interfaces.find(({ name }) => name === defaultInterface);
  return { time: formatRfc3339(reading.time), name: '', ...main, interfaces };
}

export function cgroupProcesses({ reading }: CgroupSample): { readonly process_count: number } | null {
  return reading === null || reading.processCount === null ? null : { process_count: reading.processCount };
}

/** A cgroup as one of the node's system containers. @param startTime where another than its creation is shown */
export function namedCgroupStats(name: string, sample: CgroupSample, startTime: Micros = sample.createdAt): ContainerStats {
  return { name, startTime: formatRfc3339(startTime), ...cgroupStats(sample) };
}
