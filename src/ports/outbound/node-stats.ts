// Resource usage of the node and its pods, measured for the agent's own decisions.
import type { StatsSummary } from '../model/stats-summary.js';
import type { Operation } from '../operation.js';

export interface NodeStatsReading {
  /** Omits unmeasured parts. */
  readonly summary: StatsSummary;
  /** Images are on another file system than the kubelet's root directory; null if unknown at the moment. */
  readonly dedicatedImageFs: boolean | null;
}

export interface NodeStatsOperations {
  /** Measured after the request. Errors: unavailable (the runtime can't list its pods). */
  readonly summary: Operation<null, NodeStatsReading>;
}
