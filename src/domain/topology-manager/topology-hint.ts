// A resource manager's hint for the topology manager: possible NUMA nodes of a container's (or pod's) resources.
// Invariant: node ids of a hint are ascending and unique; null means any node.
import type { CpuSet } from '../values/cpu-set.js';

export interface TopologyHint {
  /** NUMA node ids; null: no affinity. */
  readonly numaNodes: CpuSet | null;
  /** Whether no placement on fewer nodes could ever serve the request. */
  readonly preferred: boolean;
}

/**
 * One provider's answer, resource -> hints. A null list is "no preference", an empty list "no possible placement";
 * null or empty as a whole: no preference at all.
 */
export type ProviderHints = ReadonlyMap<string, readonly TopologyHint[] | null>;

/** The hint of a container without a stored one. */
export const noHint: TopologyHint = { numaNodes: null, preferred: false };
