// The daemon's clocks. Two readings with separate types: the wall clock may be set at any time, the other one never is.
import type { Instant } from '../ports/instant.js';
import type { Micros } from '../ports/micros.js';

/** The daemon's clocks. */
export interface Clock {
  /** For intervals: never decreases, never set. */
  now(): Micros;
  /** The reading of `now` when the host was booted. */
  readonly bootedAt: Micros;
  /** For timestamps from or for others. */
  wall(): Instant;
}
