// The order of a pod's sandboxes and containers. Invariant: by attempt, which the creator counts up; the runtime's creation
// times only order equal attempts, since the wall clock may be set back between two of them.
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
