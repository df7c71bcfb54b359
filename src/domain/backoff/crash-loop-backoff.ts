// CrashLoopBackOff: how long a terminated container must wait for its next start.
// The delay counts from the container's end, so the first restart is immediate and the next ones wait 10 s, 20 s, 40 s ... up to the maximum.
// Invariant: without a terminated run the container may start and no entry is kept.
import type { Micros } from '../../ports/micros.js';
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { formatGoDuration } from '../values/go-duration.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { advanceBackoff, backoffDelay, isInBackoffSinceEvent, type KeyedBackoff, newKeyedBackoff } from './keyed-backoff.js';

const defaultInitialDelay: Micros = 10_000_000;
const defaultMaxDelay: Micros = 300_000_000;

export type CrashLoopDecision =
  | { readonly kind: 'start' }
  | {
      readonly kind: 'wait';
      readonly retryAt: Micros;
      readonly message: string;
      readonly event: { readonly type: 'Warning'; readonly reason: 'BackOff'; readonly message: string };
    };

/** The table for the configured `crashLoopBackOff.maxContainerRestartPeriod` (null: the default, 5 min); a smaller maximum lowers the first delay too. */
export function newCrashLoopBackoff(maxContainerRestartPeriod: Micros | null): KeyedBackoff {
  const max = maxContainerRestartPeriod ?? defaultMaxDelay;
  return newKeyedBackoff(Math.min(defaultInitialDelay, max), max);
}

/**
 * The key of a container's crash loop; a change of any part resets it: the pod's identity, its name, image and resources.
 * The order of keys in `resources` doesn't matter.
 */
export function crashLoopKey(pod: Pod, container: Container): string {
  const { name, namespace, uid } = pod.metadata;
  return JSON.stringify([name, namespace ?? '', uid ?? '', container.name, container.image ?? '', inKeyOrder(container.resources ?? {})]);
}

/**
 * Whether the container may start now. A yes moves the key to its next delay, a no leaves the table unchanged.
 * @param newestExitedFinishedAt end of its newest terminated run, null if none
 */
export function decideCrashLoop(backoff: KeyedBackoff, pod: Pod, container: Container, newestExitedFinishedAt: Micros | null, now: Micros): CrashLoopDecision {
  if (newestExitedFinishedAt === null) return { kind: 'start' };
  const key = crashLoopKey(pod, container);
  if (!isInBackoffSinceEvent(backoff, key, newestExitedFinishedAt, now)) {
    advanceBackoff(backoff, key, newestExitedFinishedAt, now);
    return { kind: 'start' };
  }
  const delay = backoffDelay(backoff, key);
  const reference = podReferenceTextOf(pod);
  return {
    kind: 'wait',
    retryAt: newestExitedFinishedAt + delay,
    message: `back-off ${formatGoDuration(delay)} restarting failed container=${container.name} pod=${reference}`,
    event: { type: 'Warning', reason: 'BackOff', message: `Back-off restarting failed container ${container.name} in pod ${reference}` },
  };
}

/** Whether it would have to wait; changes nothing. Parameters as of `decideCrashLoop`. */
export function isInCrashLoop(backoff: KeyedBackoff, pod: Pod, container: Container, newestExitedFinishedAt: Micros | null, now: Micros): boolean {
  return newestExitedFinishedAt !== null && isInBackoffSinceEvent(backoff, crashLoopKey(pod, container), newestExitedFinishedAt, now);
}

function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return fields.map(([name, field]) => [name, inKeyOrder(field)]);
}
