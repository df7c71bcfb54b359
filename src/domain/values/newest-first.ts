// The order in which a pod's sandboxes and containers stand. Invariant: it is by attempt, which whoever creates them counts up; the runtime's times of
// creation order only what has the same attempt, since the wall clock may be set back between two of them.
import type { Instant } from '../../ports/instant.js';
import { compareInstants } from './instant.js';

export interface Attempted {
  readonly id: string;
  readonly attempt: number;
  readonly createdAt: Instant;
}

/** For sorting: the newest one first. */
export function newestAttemptFirst(a: Attempted, b: Attempted): number {
  return b.attempt - a.attempt || compareInstants(b.createdAt, a.createdAt) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
