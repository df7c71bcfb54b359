// Retry times of failed operations, by key: after a pause that doubles with each failure in a row.
// Invariant: a key is kept only while its last try has failed, or until its owner drops it.
import type { Micros } from '../../ports/micros.js';
import { nextPause } from './doubled-pause.js';

/** Plain data, changed in place by the functions below. */
export interface RetryPauses {
  readonly shortest: Micros;
  readonly longest: Micros;
  readonly failures: Map<string, { readonly pause: Micros; readonly retryAt: Micros }>;
}

export function newRetryPauses(shortest: Micros, longest: Micros): RetryPauses {
  return { shortest, longest, failures: new Map() };
}

/** Returns when to try again. */
export function tryFailed(pauses: RetryPauses, key: string, now: Micros): Micros {
  const before = pauses.failures.get(key);
  const pause = nextPause(before?.pause ?? 0, pauses.shortest, pauses.longest);
  pauses.failures.set(key, { pause, retryAt: now + pause });
  return now + pause;
}

export function trySucceeded(pauses: RetryPauses, key: string): void {
  pauses.failures.delete(key);
}

export function mayTry(pauses: RetryPauses, key: string, now: Micros): boolean {
  return (pauses.failures.get(key)?.retryAt ?? now) <= now;
}

/** The earliest time at which something is to be tried again; null: nothing has failed. */
export function nextTryAt(pauses: RetryPauses): Micros | null {
  let next: Micros | null = null;
  for (const { retryAt } of pauses.failures.values()) next = next === null ? retryAt : Math.min(next, retryAt);
  return next;
}

/** Drops keys that are no longer tried. */
export function keepTries(pauses: RetryPauses, isWanted: (key: string) => boolean): void {
  for (const key of pauses.failures.keys()) if (!isWanted(key)) pauses.failures.delete(key);
}
