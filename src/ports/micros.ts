// Durations, and moments of the clock that is never set. Invariant: no value of this type is a stamp that anyone else reads or wrote.
/**
 * Microseconds, an integer: a duration, or a moment of a clock that never runs backwards and is never set (CLOCK_MONOTONIC in the daemon, the time of
 * the world in simulations). Only differences are meaningful. A moment from or for others is an `Instant`. 2^53 µs are 285 years.
 */
export type Micros = number;
