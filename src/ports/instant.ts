// Moments of the wall clock, kept apart from durations and from moments of the monotonic clock by their type: the compiler refuses to mix them.
declare const wallClock: unique symbol;

/**
 * A moment of the wall clock: a timestamp from or for others (objects of the API, the runtime's answers, file times, certificates).
 * At run time it is a number, microseconds since the Unix epoch. To the compiler it is opaque: it can be compared with another `Instant`, and
 * neither be compared with nor added to `Micros`, since the wall clock may be set at any time. Its operations are in `domain/values/instant.ts`.
 */
export interface Instant {
  readonly [wallClock]: never;
}
