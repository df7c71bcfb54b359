// The concurrency and the rate limit of image pulls.
// Invariants: a pull begins when a slot is free, in request order; the rate is checked without waiting, so that a
// pull above it fails at once.

import type { Micros } from '../../ports/micros.js';
import { assert } from '../kernel/assert.js';
import { microsPerSecond } from '../values/time.js';

export interface PullLimits {
  /** Pulls at a time; null: any number. */
  readonly parallel: number | null;
  /** Pulls a second; 0: any number. */
  readonly perSecond: number;
  /** Pulls at once beyond that. */
  readonly burst: number;
}

/** Plain data, changed in place. `waiting` has at most one pull for each container or volume that is being started. */
export interface PullQueue {
  readonly waiting: number[];
  readonly pulling: Set<number>;
  tokens: number;
  filledAt: Micros;
}

export function newPullQueue({ burst }: PullLimits): PullQueue {
  return { waiting: [], pulling: new Set(), tokens: burst, filledAt: 0 };
}

/** The next pull that may begin now; it has its slot from here on. Null: none waits, or no slot is free. */
export function nextPull(queue: PullQueue, { parallel }: PullLimits): number | null {
  if (queue.waiting.length === 0 || (parallel !== null && queue.pulling.size >= parallel)) return null;
  const next = queue.waiting.shift()!;
  assert(!queue.pulling.has(next), 'a pull has its slot twice', next);
  queue.pulling.add(next);
  return next;
}

/** Whether one more pull is within the rate; it counts then. */
export function acceptPull(queue: PullQueue, { perSecond, burst }: PullLimits, now: Micros): boolean {
  if (perSecond <= 0) return true;
  assert(now >= queue.filledAt, 'the time of pulls went back', now);
  queue.tokens = Math.min(burst, queue.tokens + ((now - queue.filledAt) / microsPerSecond) * perSecond);
  queue.filledAt = now;
  if (queue.tokens < 1) return false;
  queue.tokens -= 1;
  return true;
}
