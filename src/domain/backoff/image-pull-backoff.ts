// ImagePullBackOff: delays between attempts of one pod to pull one image, and the messages meanwhile.
// Invariant: a message of a waiting pull cites the failure from which the wait counts; both are dropped together.
import type { Micros } from '../../ports/micros.js';
import { goQuote } from '../values/go-text.js';
import { advanceBackoff, collectExpiredBackoff, isInBackoffSinceUpdate, type KeyedBackoff, newKeyedBackoff } from './keyed-backoff.js';

const initialDelay: Micros = 10_000_000;
const maxDelay: Micros = 300_000_000;

/** A waiting reason and the message beside it. */
export interface PullProblem {
  readonly reason: string;
  readonly message: string;
}

/** Plain data, changed in place. `lastProblems` has an entry for each key of `delays`. */
export interface ImagePullBackoff {
  readonly delays: KeyedBackoff;
  readonly lastProblems: Map<string, PullProblem>;
}

export function newImagePullBackoff(): ImagePullBackoff {
  return { delays: newKeyedBackoff(initialDelay, maxDelay), lastProblems: new Map() };
}

/** Pods back off on their own, each for the image as its spec has it: `x` and `x:latest` are two keys. */
export function imagePullKey(podUid: string, image: string): string {
  return `${podUid}_${image}`;
}

/** The text of the event, and the beginning of the waiting message. */
export function imagePullBackOffText(image: string): string {
  return `Back-off pulling image ${goQuote(image)}`;
}

/** The problem of an absent image with pull policy Never; it is not in the table. */
export function neverPullProblem(image: string): PullProblem {
  return { reason: 'ErrImageNeverPull', message: `Container image ${goQuote(image)} is not present with pull policy of Never` };
}

/** The problem to report instead of a pull now; null: a pull may be tried. */
export function imagePullWait(backoff: ImagePullBackoff, podUid: string, image: string, now: Micros): PullProblem | null {
  const key = imagePullKey(podUid, image);
  if (!isInBackoffSinceUpdate(backoff.delays, key, now)) return null;
  const last = backoff.lastProblems.get(key);
  const text = imagePullBackOffText(image);
  return { reason: 'ImagePullBackOff', message: last === undefined ? text : `${text}: ${last.reason}: ${last.message}` };
}

/** The end of the wait; null: no wait. */
export function imagePullRetryAt(backoff: ImagePullBackoff, podUid: string, image: string): Micros | null {
  const entry = backoff.delays.entries.get(imagePullKey(podUid, image));
  return entry === undefined ? null : entry.lastUpdate + entry.delay;
}

/** Records a failed pull and turns the runtime's error text into what users see. */
export function imagePullFailed(backoff: ImagePullBackoff, podUid: string, image: string, errorText: string, now: Micros): PullProblem {
  const key = imagePullKey(podUid, image);
  const problem = pullProblem(image, errorText);
  advanceBackoff(backoff.delays, key, now, now);
  backoff.lastProblems.set(key, problem);
  return problem;
}

/** A success doesn't reset its own key (a flapping registry must not) and only removes expired entries. */
export function imagePullSucceeded(backoff: ImagePullBackoff, now: Micros): void {
  for (const key of collectExpiredBackoff(backoff.delays, now)) backoff.lastProblems.delete(key);
}

/** Runtimes mark these two classes of failure by how the error text begins. */
const markedFailures = [
  { mark: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { mark: 'SignatureValidationFailed', because: 'the signature validation failed' },
] as const;

function pullProblem(image: string, errorText: string): PullProblem {
  for (const { mark, because } of markedFailures) {
    if (errorText.startsWith(mark)) return { reason: mark, message: `image pull failed for ${image} because ${because}${errorText.slice(mark.length)}` };
  }
  return { reason: 'ErrImagePull', message: errorText };
}
