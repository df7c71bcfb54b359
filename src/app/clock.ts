// What the daemon reads the time from. Two readings, kept apart by their types: the wall clock may be set at any time, the other one never is.
import type { Instant } from '../ports/instant.js';
import type { Micros } from '../ports/micros.js';

/** The daemon's clocks. */
export interface Clock {
  /** For intervals: never less than before, never set. */
  now(): Micros;
  /** For stamps that others read or wrote. */
  wall(): Instant;
}
