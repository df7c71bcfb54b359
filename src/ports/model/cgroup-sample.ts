// The last reading of a cgroup with its derived values: the input of the stats summary.
import type { Instant } from '../instant.js';
import type { Micros } from '../micros.js';
import type { InterfaceStats, PsiStats } from './stats-summary.js';

export interface CpuSample {
  readonly usageCoreNanoSeconds: number;
  /** Over the time since the previous sample; null: none. */
  readonly usageNanoCores: number | null;
}

export interface MemorySample {
  readonly usageBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly swapBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
}

export interface PressureSample {
  readonly cpu: PsiStats;
  readonly memory: PsiStats;
  readonly io: PsiStats;
}

export interface CgroupReading {
  readonly time: Instant;
  /** The same by the clock that is never set. */
  readonly at: Micros;
  /** null: that part could not be read. */
  readonly cpu: CpuSample | null;
  readonly memory: MemorySample | null;
  /** The cgroup's network namespace. */
  readonly network: readonly Required<InterfaceStats>[];
  readonly processCount: number | null;
  readonly diskIo: boolean;
  /** null: the kernel has no pressure information. */
  readonly pressure: PressureSample | null;
}

export interface CgroupSample {
  readonly createdAt: Instant;
  readonly hasCpu: boolean;
  readonly hasMemory: boolean;
  readonly hasNetwork: boolean;
  readonly hasDiskIo: boolean;
  /** The kernel's value; "no limit" exceeds the exact range of a number. null: no limit. */
  readonly memoryLimitBytes: bigint | null;
  readonly swapLimitBytes: bigint | null;
  /** Of its container or sandbox; empty for all others. */
  readonly labels: Readonly<Record<string, string>>;
  /** null: nothing was read yet. */
  readonly reading: CgroupReading | null;
}
