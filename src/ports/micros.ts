/** Microseconds since the Unix epoch, an integer; durations too. 2^53 µs reach past the year 2255. */
export type Micros = number;
