// The start of a pod, as the agent keeps it: see `pod-starts.ts`.
import type { Micros } from '../../../ports/micros.js';

export interface PodStart {
  /** As in the status. */
  readonly startTime: string;
  /** By the monotonic clock. */
  readonly at: Micros;
}
