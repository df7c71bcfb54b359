// Inputs of a container's or cgroup's resource configuration, besides the pod.
import type { Micros } from '../../ports/micros.js';

export type CgroupVersion = 1 | 2;

export interface SwapFacts {
  /** `LimitedSwap` lets Burstable pods swap; anything else, the empty default too, lets none. */
  readonly behavior: string;
  readonly bytes: number;
  /** Whether the kernel accounts swap at all; without it nothing is set. */
  readonly controllerAvailable: boolean;
}

/** Memory reservation and throttling on cgroup v2 (KEP-2570), off where this is null. */
export interface MemoryQosFacts {
  /** `TieredReservation` protects requested memory; `None` doesn't. */
  readonly reservationPolicy: string;
  /** Between request and limit, where throttling begins: 0 at the request, 1 at the limit. */
  readonly throttlingFactor: number;
  /** Replaces a missing limit; null while it isn't known. */
  readonly allocatableMemoryBytes: number | null;
  readonly memoryPageBytes: number;
}

export interface ResourceFacts {
  readonly cgroupVersion: CgroupVersion;
  readonly machineMemoryBytes: number;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriod: Micros;
  /** Whether the OOM killer takes one process alone rather than all of a container (KEP-4176's setting; always so on cgroup v1). */
  readonly singleProcessOomKill: boolean;
  /** Sizes the host has, as in cgroup file names (`2MB`), in the order to report them. */
  readonly hugePageSizes: readonly string[];
  readonly swap: SwapFacts;
  readonly memoryQos: MemoryQosFacts | null;
}
