// Exponential delays by key: the table behind container restarts and image pulls.
// Invariant: a delay is between the initial and the maximum one, and never shrinks while its key is in use.
import type { Micros } from '../../ports/micros.js';
import { nextPause } from './doubled-pause.js';

export interface BackoffEntry {
  readonly delay: Micros;
  readonly lastUpdate: Micros;
}

/** Plain data, changed in place by the functions below. */
export interface KeyedBackoff {
  readonly initial: Micros;
  readonly max: Micros;
  readonly entries: Map<string, BackoffEntry>;
}

/** An entry that was not used for this many maximum delays starts afresh, and is garbage. */
const expiryInMaxDelays = 2;

export function newKeyedBackoff(initial: Micros, max: Micros): KeyedBackoff {
  return { initial, max, entries: new Map() };
}

/** The key's present delay; 0 without an entry. */
export function backoffDelay(backoff: KeyedBackoff, key: string): Micros {
  return backoff.entries.get(key)?.delay ?? 0;
}

/** Moves the key to its next delay: the initial one when it is new or was unused for long up to `eventTime`, else twice the last, capped. */
export function advanceBackoff(backoff: KeyedBackoff, key: string, eventTime: Micros, now: Micros): Micros {
  const entry = liveEntry(backoff, key, eventTime);
  const delay = nextPause(entry?.delay ?? 0, backoff.initial, backoff.max);
  backoff.entries.set(key, { delay, lastUpdate: now });
  return delay;
}

/** Whether less than the key's delay has passed since the event (for example the end of a container). */
export function isInBackoffSinceEvent(backoff: KeyedBackoff, key: string, eventTime: Micros, now: Micros): boolean {
  const entry = liveEntry(backoff, key, eventTime);
  return entry !== null && now - eventTime < entry.delay;
}

/** Whether the event comes within the key's delay after its last advance. */
export function isInBackoffSinceUpdate(backoff: KeyedBackoff, key: string, eventTime: Micros): boolean {
  const entry = liveEntry(backoff, key, eventTime);
  return entry !== null && eventTime - entry.lastUpdate < entry.delay;
}

export function resetBackoff(backoff: KeyedBackoff, key: string): void {
  backoff.entries.delete(key);
}

/** Forgets expired keys and names them. */
export function collectExpiredBackoff(backoff: KeyedBackoff, now: Micros): string[] {
  const expired: string[] = [];
  for (const [key, entry] of backoff.entries) if (isExpired(backoff, entry, now)) expired.push(key);
  for (const key of expired) backoff.entries.delete(key);
  return expired;
}

function liveEntry(backoff: KeyedBackoff, key: string, eventTime: Micros): BackoffEntry | null {
  const entry = backoff.entries.get(key);
  return entry === undefined || isExpired(backoff, entry, eventTime) ? null : entry;
}

function isExpired(backoff: KeyedBackoff, entry: BackoffEntry, time: Micros): boolean {
  return time - entry.lastUpdate > expiryInMaxDelays * backoff.max;
}
