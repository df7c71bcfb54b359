// The start of a pod, as the agent keeps it: see `pod-starts.ts`.
import type { Micros } from '../../ports/micros.js';

export interface PodStart {
  /** As the status has it. */
  readonly startTime: string;
  /** By the clock that is never set. */
  readonly at: Micros;
}
