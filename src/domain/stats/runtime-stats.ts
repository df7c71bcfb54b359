// A container's statistics from its runtime: the list of containers, their writable layers, and replacements for cgroup readings.
// Invariant: a missing number stays missing, but a missing part counts as 0 now.

import type { Instant } from '../../ports/instant.js';
import type { FilesystemNumbers, RuntimeContainerReading } from '../../ports/model/node-measurements.js';
import type { ContainerStats, CpuStats, FsStats, MemoryStats, SwapStats } from '../../ports/model/stats-summary.js';
import { freeSpace } from '../values/filesystem-space.js';
import { formatRfc3339 } from '../values/time.js';

/** cpu, memory, io and swap. */
export function runtimeStats(name: string, createdAt: Instant, reading: RuntimeContainerReading, wall: Instant): ContainerStats {
  const { memory } = reading;
  const noMemory: MemoryStats = { time: formatRfc3339(wall), usageBytes: 0, workingSetBytes: 0, rssBytes: 0 };
  return { ...identity(name, createdAt), ...cpuAndSwap(reading, wall), memory: memory === null ? noMemory : timed(memory), io: { time: formatRfc3339(wall) } };
}

/** For the answer with only CPU and memory, where memory has all its numbers. */
export function runtimeCpuAndMemory(name: string, createdAt: Instant, reading: RuntimeContainerReading, wall: Instant): ContainerStats {
  const { memory } = reading;
  const zeros: MemoryStats = { availableBytes: 0, usageBytes: 0, rssBytes: 0, pageFaults: 0, majorPageFaults: 0 };
  const known = memory === null ? { time: formatRfc3339(wall), workingSetBytes: 0 } : timed(memory);
  return { ...identity(name, createdAt), ...cpuAndSwap(reading, wall), memory: { ...zeros, ...known } };
}

function identity(name: string, createdAt: Instant): { readonly name: string; readonly startTime: string } {
  return { name, startTime: formatRfc3339(createdAt) };
}

function cpuAndSwap({ cpu, swap }: RuntimeContainerReading, wall: Instant): { readonly cpu: CpuStats; readonly swap: SwapStats } {
  const time = formatRfc3339(wall);
  return {
    cpu: cpu === null ? { time, usageNanoCores: 0, usageCoreNanoSeconds: 0 } : timed(cpu),
    swap: swap === null ? { time, swapAvailableBytes: 0, swapUsageBytes: 0 } : timed(swap),
  };
}

function timed<Part extends { readonly time: Instant }>({ time, ...numbers }: Part): Omit<Part, 'time'> & { readonly time: string } {
  return { time: formatRfc3339(time), ...numbers };
}

/** A container without a writable layer has the part all the same; this is how the API writes "at no time". */
const noWritableLayer = { time: null } as unknown as FsStats;

/** @param filesystems by mount point @param timeOf null: at no time */
export function writableLayerStats(
  { writableLayer }: RuntimeContainerReading,
  filesystems: Readonly<Record<string, FilesystemNumbers>>,
  timeOf: (time: Instant) => string | null = formatRfc3339,
): FsStats {
  if (writableLayer === null) return noWritableLayer;
  const { time, mountpoint, ...used } = writableLayer;
  const filesystem = mountpoint === null || !Object.hasOwn(filesystems, mountpoint) ? undefined : filesystems[mountpoint];
  const at = timeOf(time);
  return { ...(at === null ? {} : { time: at }), ...used, ...(filesystem === undefined ? {} : freeSpace(filesystem)) };
}
