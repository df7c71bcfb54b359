// Operations on moments of the wall clock. All code that combines the two clocks is here.
// Invariant: no decision about elapsed time uses two `Instant`s alone, since the wall clock may be set between them;
// `momentOf` limits a timestamp by the agent's own observations.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';

/** Both clocks at one moment. */
export interface Clocks {
  readonly now: Micros;
  readonly wall: Instant;
}

/** @param micros since the Unix epoch, an integer */
export function instantOf(micros: number): Instant {
  return micros as unknown as Instant;
}

/** Microseconds since the Unix epoch. */
export function epochMicros(instant: Instant): number {
  return instant as unknown as number;
}

/** `by` may be negative. */
export function instantAfter(instant: Instant, by: Micros): Instant {
  return instantOf(epochMicros(instant) + by);
}

/** The time between two timestamps of the same writer; negative if `to` is earlier. */
export function microsBetween(from: Instant, to: Instant): Micros {
  return epochMicros(to) - epochMicros(from);
}

/** For sorting, the earlier one first. */
export function compareInstants(a: Instant, b: Instant): number {
  return epochMicros(a) - epochMicros(b);
}

/** How far the wall clock is ahead of the other one: it changes when the wall clock is set, or when the host slept. */
export function wallOffset({ now, wall }: Clocks): Micros {
  return epochMicros(wall) - now;
}

/**
 * The moment of an event with a timestamp: by the timestamp, limited by observations independent of the wall clock.
 * @param notBefore null: nothing was observed
 */
export function momentOf(stamp: Instant, clocks: Clocks, notBefore: Micros | null, notAfter: Micros = clocks.now): Micros {
  const byStamp = clocks.now - microsBetween(stamp, clocks.wall);
  return Math.max(notBefore ?? Number.NEGATIVE_INFINITY, Math.min(byStamp, notAfter));
}

/** When the wall clock will show that, if it isn't set until then. */
export function momentAhead(stamp: Instant, clocks: Clocks): Micros {
  return clocks.now + microsBetween(clocks.wall, stamp);
}

/** Now, on the scale of `since.now`, by `elapsedOutside`. */
export function nowOutside(since: Clocks, clocks: Clocks): Micros {
  return since.now + elapsedOutside(since, clocks);
}

/**
 * The real time passed since then: after a sleep of the host its wall clock is ahead by the sleep, while the other clock did not advance. For outside
 * expiry (tokens, leases): never too little, but too much if the wall clock was set forward.
 */
function elapsedOutside(since: Clocks, clocks: Clocks): Micros {
  return Math.max(clocks.now - since.now, microsBetween(since.wall, clocks.wall));
}
