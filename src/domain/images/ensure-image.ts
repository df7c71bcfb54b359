// Ensures one container's image: is it present, may the pod use it, else pull it. One run is data; each answer leads to the next request.
// Invariant: a pull happens only between a recorded intent and its recorded outcome; an image that the pod may not use is never disclosed.
//
// | phase              | answer                         | next                                                        |
// | inspect            | present / absent / failed      | check-records / look-up-credentials or done / done          |
// | check-records      | may use / must pull / failed   | done / look-up-credentials or done (Never) / done           |
// | look-up-credentials| found / failed                 | record-intent / done                                        |
// | record-intent      | written / failed               | pull, or record-failed while backing off / done             |
// | pull               | pulled / failed                | record-pulled / record-failed                               |
// | record-*           | done or not                    | done                                                        |
import type { Micros } from '../../ports/micros.js';
import {
  type ImagePullBackoff,
  imagePullBackOffText,
  imagePullFailed,
  imagePullSucceeded,
  imagePullWait,
  neverPullProblem,
  type PullProblem,
} from '../backoff/image-pull-backoff.js';
import { assert } from '../kernel/assert.js';
import { formatGoDuration } from '../values/go-duration.js';
import { goQuote } from '../values/go-text.js';
import { normalizeImageName } from '../values/image-name.js';
import { microsPerMillisecond } from '../values/time.js';
import type { TrackedCredentials } from './keyring.js';

export interface EnsureImageRequest {
  readonly podUid: string;
  /** As in the pod's spec. */
  readonly image: string;
  /** `IfNotPresent`, `Never`; anything else pulls without a check. */
  readonly pullPolicy: string;
}

export type EnsureImageStep =
  /** Is an image of that name present? */
  | { readonly kind: 'inspect'; readonly image: string }
  /** Was this image pulled with credentials that the pod has? See `pull-records.ts`. */
  | { readonly kind: 'check-records'; readonly image: string; readonly imageId: string }
  | { readonly kind: 'look-up-credentials'; readonly repository: string }
  | { readonly kind: 'record-intent'; readonly image: string }
  /** With each of the credentials in order until one succeeds; without any, once anonymously. */
  | { readonly kind: 'pull'; readonly image: string; readonly credentials: readonly TrackedCredentials[] }
  | { readonly kind: 'record-pulled'; readonly image: string; readonly imageRef: string; readonly used: TrackedCredentials | null }
  | { readonly kind: 'record-failed'; readonly image: string }
  | { readonly kind: 'done'; readonly outcome: ImageOutcome };

export type ImageOutcome =
  | { readonly kind: 'ready'; readonly imageRef: string; readonly message: string }
  /** A waiting reason and its message. */
  | ({ readonly kind: 'problem' } & PullProblem);

export type EnsureImageReply =
  | { readonly kind: 'present'; readonly imageId: string }
  | { readonly kind: 'absent' }
  /** `isUnchecked`: no records exist, so nothing was checked. */
  | { readonly kind: 'records'; readonly mustPull: boolean; readonly isUnchecked?: boolean }
  | { readonly kind: 'credentials'; readonly credentials: readonly TrackedCredentials[] }
  | { readonly kind: 'recorded' }
  | PulledReply
  | { readonly kind: 'failed'; readonly message: string };

export interface PulledReply {
  readonly kind: 'pulled';
  readonly imageRef: string;
  readonly sizeBytes: number;
  /** The credentials that worked; null when the pull was anonymous. */
  readonly used: TrackedCredentials | null;
  /** The pull alone. */
  readonly took: Micros;
  /** Since the request of the pull. */
  readonly waited: Micros;
}

export interface ImageEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface EnsureImageRun {
  readonly request: EnsureImageRequest;
  /** The name for the runtime, and its full form without tag and digest. */
  readonly pullName: string;
  readonly repository: string;
  readonly credentials: readonly TrackedCredentials[];
  readonly step: EnsureImageStep;
  /** Reported once the outcome is recorded; null before it is known. */
  readonly outcome: ImageOutcome | null;
}

export interface EnsureImageTurn {
  readonly run: EnsureImageRun;
  readonly events: readonly ImageEvent[];
}

export function beginEnsureImage(request: EnsureImageRequest): EnsureImageTurn {
  const name = normalizeImageName(request.image);
  const empty = { request, pullName: '', repository: '', credentials: [], outcome: null };
  if (!name.ok) {
    const message = `Failed to apply default image tag ${goQuote(request.image)}: ${name.message}`;
    const outcome: ImageOutcome = { kind: 'problem', reason: 'InvalidImageName', message };
    return { run: { ...empty, step: { kind: 'done', outcome } }, events: [warning('InspectFailed', message)] };
  }
  const named = { ...empty, pullName: name.name, repository: name.repository };
  const looksFirst = request.pullPolicy === 'IfNotPresent' || request.pullPolicy === 'Never';
  return { run: { ...named, step: looksFirst ? { kind: 'inspect', image: name.name } : { kind: 'look-up-credentials', repository: name.repository } }, events: [] };
}

/** @param backoff changed in place by the end of a pull */
export function advanceEnsureImage(run: EnsureImageRun, reply: EnsureImageReply, backoff: ImagePullBackoff, now: Micros): EnsureImageTurn {
  switch (run.step.kind) {
    case 'inspect':
      return inspected(run, reply);
    case 'check-records':
      return recordsChecked(run, run.step.imageId, reply);
    case 'look-up-credentials':
      if (reply.kind === 'failed') return done(run, { kind: 'problem', reason: reply.message, message: reply.message });
      assert(reply.kind === 'credentials', 'a look-up of credentials is answered by credentials');
      return next({ ...run, credentials: reply.credentials }, { kind: 'record-intent', image: run.request.image });
    case 'record-intent':
      return intentRecorded(run, reply, backoff, now);
    case 'pull':
      return pullEnded(run, reply, backoff, now);
    default: {
      // An outcome that couldn't be recorded leaves its intent behind, which the next start of the agent deals with.
      assert(run.step.kind !== 'done' && run.outcome !== null, 'only an open run is advanced');
      return done(run, run.outcome);
    }
  }
}

/** A queued pull is no longer needed: only its intent must be removed. */
export function giveUpPull(run: EnsureImageRun): EnsureImageRun {
  assert(run.step.kind === 'pull', 'only a pull is given up');
  return { ...run, outcome: { kind: 'problem', reason: 'ErrImagePull', message: 'context canceled' }, step: { kind: 'record-failed', image: run.request.image } };
}

function inspected(run: EnsureImageRun, reply: EnsureImageReply): EnsureImageTurn {
  if (reply.kind === 'failed') {
    // The name between the quotes is empty in what users know, too.
    const message = `Failed to inspect image "": ${reply.message}`;
    return done(run, { kind: 'problem', reason: 'ImageInspectError', message }, [warning('InspectFailed', message)]);
  }
  if (reply.kind === 'present') return next(run, { kind: 'check-records', image: run.request.image, imageId: reply.imageId });
  assert(reply.kind === 'absent', 'an inspection finds an image or none');
  return run.request.pullPolicy === 'Never' ? neverPull(run) : lookUpCredentials(run);
}

function recordsChecked(run: EnsureImageRun, imageId: string, reply: EnsureImageReply): EnsureImageTurn {
  if (reply.kind === 'failed') return done(run, { kind: 'problem', reason: reply.message, message: reply.message });
  assert(reply.kind === 'records', 'a check of records is answered by what they say');
  if (!reply.mustPull) {
    const proven = reply.isUnchecked === true ? '' : ' and can be accessed by the pod';
    const message = `Container image ${goQuote(run.request.image)} already present on machine${proven}`;
    return done(run, { kind: 'ready', imageRef: imageId, message }, [normal('Pulled', message)]);
  }
  return run.request.pullPolicy === 'Never' ? neverPull(run) : lookUpCredentials(run);
}

/** The same answer for an image that isn't there and one that the pod may not know of. */
function neverPull(run: EnsureImageRun): EnsureImageTurn {
  const problem = neverPullProblem(run.request.image);
  return done(run, { kind: 'problem', ...problem }, [warning(problem.reason, problem.message)]);
}

function lookUpCredentials(run: EnsureImageRun): EnsureImageTurn {
  return next(run, { kind: 'look-up-credentials', repository: run.repository });
}

function intentRecorded(run: EnsureImageRun, reply: EnsureImageReply, backoff: ImagePullBackoff, now: Micros): EnsureImageTurn {
  const { podUid, image } = run.request;
  if (reply.kind === 'failed') {
    const message = `Failed to record image pull intent for container image ${goQuote(image)}: ${reply.message}`;
    return done(run, { kind: 'problem', reason: reply.message, message });
  }
  const waiting = imagePullWait(backoff, podUid, image, now);
  if (waiting !== null) {
    return { ...next({ ...run, outcome: { kind: 'problem', ...waiting } }, { kind: 'record-failed', image }), events: [normal('BackOff', imagePullBackOffText(image))] };
  }
  return { ...next(run, { kind: 'pull', image: run.pullName, credentials: run.credentials }), events: [normal('Pulling', `Pulling image ${goQuote(image)}`)] };
}

function pullEnded(run: EnsureImageRun, reply: EnsureImageReply, backoff: ImagePullBackoff, now: Micros): EnsureImageTurn {
  const { podUid, image } = run.request;
  if (reply.kind === 'failed') {
    const problem = imagePullFailed(backoff, podUid, image, reply.message, now);
    const failed = next({ ...run, outcome: { kind: 'problem', ...problem } }, { kind: 'record-failed', image });
    return { ...failed, events: [warning('Failed', `Failed to pull image ${goQuote(image)}: ${reply.message}`)] };
  }
  assert(reply.kind === 'pulled', 'a pull ends with an image or fails');
  imagePullSucceeded(backoff, now);
  const durations = `${milliseconds(reply.took)} (${milliseconds(reply.waited)} including waiting)`;
  const message = `Successfully pulled image ${goQuote(image)} in ${durations}. Image size: ${reply.sizeBytes} bytes.`;
  const outcome: ImageOutcome = { kind: 'ready', imageRef: reply.imageRef, message: '' };
  return { ...next({ ...run, outcome }, { kind: 'record-pulled', image, imageRef: reply.imageRef, used: reply.used }), events: [normal('Pulled', message)] };
}

function milliseconds(duration: Micros): string {
  return formatGoDuration(Math.floor(duration / microsPerMillisecond) * microsPerMillisecond);
}

function next(run: EnsureImageRun, step: EnsureImageStep): EnsureImageTurn {
  return { run: { ...run, step }, events: [] };
}

function done(run: EnsureImageRun, outcome: ImageOutcome, events: readonly ImageEvent[] = []): EnsureImageTurn {
  return { run: { ...run, outcome, step: { kind: 'done', outcome } }, events };
}

function normal(reason: string, message: string): ImageEvent {
  return { type: 'Normal', reason, message };
}

function warning(reason: string, message: string): ImageEvent {
  return { type: 'Warning', reason, message };
}
