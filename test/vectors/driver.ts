// What a vector driver is: it turns a case's `input` into calls of our own public functions.
// Invariant: a driver holds no policy, no special case and no knowledge of a `want`.
import type { Difference, Json } from './compare.js';

export interface VectorDriver {
  /** Integers of the input that a number can't hold exactly are given as bigint. */
  readonly exactIntegers?: boolean;
  /** The answer of our code, in the shape of `want`; may be asynchronous (drivers that use an adapter). */
  run(input: never): unknown;
  /** How to compare, where the area's README says that something is a set or that absent equals empty; strict deep equality when left out. */
  compare?(got: never, want: Json): Difference[];
  /** Top-level members of `want` that the area's README calls informative: they are neither compared nor altered. */
  readonly informative?: readonly string[];
}
