// The parts of the stats summary that come from one cgroup.
// Invariant: a number exists only if it was read or is known to be 0; free amounts may be negative after a limit was lowered.
import type { Instant } from '../../ports/instant.js';
import type { CgroupReading, CgroupSample, MemorySample } from '../../ports/model/cgroup-sample.js';
import type { ContainerStats, CpuStats, IoStats, MemoryStats, NetworkStats, PsiStats, SwapStats } from '../../ports/model/stats-summary.js';
import { formatRfc3339 } from '../values/time.js';

export interface CgroupStats {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
  readonly io?: IoStats;
}

/** The interface whose numbers represent the whole pod. */
const defaultInterface = 'eth0';
/** The kernel writes "no limit" as a number beyond any memory. */
const unlimitedAbove = 2n ** 62n;
const noPressure = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
const noPressures: PsiStats = { full: noPressure, some: noPressure };

/** Empty when nothing was read yet. Written out where spreading would do: it is made some hundred times for one answer. */
export function cgroupStats(sample: CgroupSample): CgroupStats {
  const { reading } = sample;
  if (reading === null) return {};
  const time = formatRfc3339(reading.time);
  const cpu = cpuOf(sample, reading, time);
  const io = sample.hasDiskIo && reading.diskIo ? { time, psi: reading.pressure?.io ?? noPressures } : null;
  if (!sample.hasMemory || reading.memory === null) {
    const memory = { time, workingSetBytes: 0 };
    return io === null ? { cpu, memory } : { cpu, memory, io };
  }
  const memory = memoryOf(sample, reading, reading.memory, time);
  const swap = swapOf(sample, reading.memory, time);
  return io === null ? { cpu, memory, swap } : { cpu, memory, swap, io };
}

function cpuOf({ hasCpu }: CgroupSample, { cpu, pressure }: CgroupReading, time: string): CpuStats {
  if (!hasCpu || cpu === null) return { time, usageNanoCores: 0, usageCoreNanoSeconds: 0 };
  return { time, usageNanoCores: cpu.usageNanoCores ?? 0, usageCoreNanoSeconds: cpu.usageCoreNanoSeconds, psi: pressure?.cpu ?? noPressures };
}

function memoryOf({ memoryLimitBytes }: CgroupSample, { pressure }: CgroupReading, memory: MemorySample, time: string): MemoryStats {
  const { usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults } = memory;
  const psi = pressure?.memory ?? noPressures;
  const availableBytes = free(memoryLimitBytes, workingSetBytes);
  if (availableBytes === null) return { time, usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults, psi };
  return { time, availableBytes, usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults, psi };
}

function swapOf({ swapLimitBytes }: CgroupSample, { swapBytes }: MemorySample, time: string): SwapStats {
  const swapAvailableBytes = free(swapLimitBytes, swapBytes);
  return swapAvailableBytes === null ? { time, swapUsageBytes: swapBytes } : { time, swapAvailableBytes, swapUsageBytes: swapBytes };
}

/** null: no limit. */
function free(limit: bigint | null, used: number): number | null {
  return limit === null || limit > unlimitedAbove ? null : Number(limit - BigInt(used));
}

/** null: no network namespace of its own, or no reading. */
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
export function namedCgroupStats(name: string, sample: CgroupSample, startTime: Instant = sample.createdAt): ContainerStats {
  return { name, startTime: formatRfc3339(startTime), ...cgroupStats(sample) };
}
