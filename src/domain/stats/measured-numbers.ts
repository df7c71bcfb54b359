// The numbers of the summary as served: unmeasured values are absent, where the reference has 0 or the time 1970-01-01T00:00:00Z.
// Invariant: every number comes from a cgroup or the runtime; the shapes are those of reference-numbers.ts.
import type { Instant } from '../../ports/instant.js';
import type { CgroupSample } from '../../ports/model/cgroup-sample.js';
import type { RuntimeContainerReading } from '../../ports/model/node-measurements.js';
import type { ContainerStats, CpuStats, MemoryStats, PsiStats } from '../../ports/model/stats-summary.js';
import { epochMicros } from '../values/instant.js';
import { formatRfc3339, microsPerSecond } from '../values/time.js';
import { type CgroupStats, cgroupStats } from './cgroup-stats.js';
import type { SummaryNumbers } from './reference-numbers.js';
import { runtimeCpuAndMemory, runtimeStats } from './runtime-stats.js';

/** null: not set, which runtimes write as 0; times are shown in whole seconds. */
export function measuredTime(time: Instant): string | null {
  return epochMicros(time) < microsPerSecond ? null : formatRfc3339(time);
}

/** A part with its time, if the time is set. */
export function timedPart<Part extends object>(time: Instant, part: Part): Part & { readonly time?: string } {
  const { time: _time, ...numbers } = part as Part & { readonly time?: unknown };
  const measured = measuredTime(time);
  return { ...(measured === null ? {} : { time: measured }), ...numbers } as Part & { readonly time?: string };
}

export const measuredNumbers: SummaryNumbers = {
  time: measuredTime,
  ofCgroup: measuredCgroup,
  ofRuntime: (name, createdAt, reading, wall) => measuredOf(runtimeStats(name, createdAt, reading, wall), createdAt, reading),
  cpuAndMemoryOfRuntime: (name, createdAt, reading, wall) => measuredOf(runtimeCpuAndMemory(name, createdAt, reading, wall), createdAt, reading),
  sum: measuredSum,
};

/** Without the parts and numbers that have no reading. */
export function measuredCgroup(sample: CgroupSample): CgroupStats {
  const { reading, hasCpu, hasMemory } = sample;
  if (reading === null) return {};
  const { cpu, memory, swap, io } = cgroupStats(sample);
  const { pressure } = reading;
  return {
    ...(cpu === undefined || !hasCpu || reading.cpu === null ? {} : { cpu: measuredCpu(cpu, reading.cpu.usageNanoCores !== null, pressure !== null) }),
    ...(memory === undefined || !hasMemory || reading.memory === null ? {} : { memory: measuredPressure(memory, pressure !== null) }),
    ...(swap === undefined || !hasMemory || reading.memory === null ? {} : { swap }),
    ...(io === undefined || pressure === null ? {} : { io }),
  };
}

function measuredCpu(cpu: CpuStats, hasRate: boolean, hasPressure: boolean): CpuStats {
  if (hasRate) return measuredPressure(cpu, hasPressure);
  const { usageNanoCores: _rate, ...others } = cpu;
  return measuredPressure(others, hasPressure);
}

function measuredPressure<Part extends { readonly psi?: PsiStats }>(part: Part, hasPressure: boolean): Part {
  if (hasPressure || part.psi === undefined) return part;
  const { psi: _psi, ...others } = part;
  return others as Part;
}

/** The runtime's numbers of a container, without those that it did not report. */
function measuredOf(
  { cpu: _cpu, memory: _memory, swap: _swap, io: _io, startTime: _start, ...others }: ContainerStats,
  createdAt: Instant,
  reading: RuntimeContainerReading,
): ContainerStats {
  const { cpu, memory, swap } = reading;
  const startTime = measuredTime(createdAt);
  return {
    ...others,
    ...(startTime === null ? {} : { startTime }),
    ...(cpu === null ? {} : { cpu: timedPart(cpu.time, cpu) as CpuStats }),
    ...(memory === null ? {} : { memory: timedPart(memory.time, memory) as MemoryStats }),
    ...(swap === null ? {} : { swap: timedPart(swap.time, swap) as NonNullable<ContainerStats['swap']> }),
  };
}

/** A number of the pod is the sum over the containers that have it; it is absent if none has it. */
function measuredSum(containers: readonly ContainerStats[]): CgroupStats {
  const cpu = sumOf(containers, 'cpu', ['usageNanoCores', 'usageCoreNanoSeconds']);
  const memory = sumOf(containers, 'memory', ['availableBytes', 'usageBytes', 'workingSetBytes', 'rssBytes', 'pageFaults', 'majorPageFaults']);
  const swap = sumOf(containers, 'swap', ['swapAvailableBytes', 'swapUsageBytes']);
  return { ...(cpu === null ? {} : { cpu }), ...(memory === null ? {} : { memory }), ...(swap === null ? {} : { swap }) };
}

function sumOf(containers: readonly ContainerStats[], part: 'cpu' | 'memory' | 'swap', fields: readonly string[]): Readonly<Record<string, string | number>> | null {
  const parts = containers.flatMap((container) => (container[part] === undefined ? [] : [container[part] as Readonly<Record<string, unknown>>]));
  if (parts.length === 0) return null;
  const time = parts.findLast((one) => one.time !== undefined)?.time;
  const sums = fields.flatMap((field) => {
    const numbers = parts.flatMap((one) => (typeof one[field] === 'number' ? [one[field]] : []));
    return numbers.length === 0 ? [] : [[field, numbers.reduce((total, number) => total + number, 0)] as const];
  });
  return { ...(typeof time === 'string' ? { time } : {}), ...Object.fromEntries(sums) };
}
