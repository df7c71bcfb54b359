// Back-off for embedders: when a crashed container may start again, when an image may be pulled again.
import type { Micros } from '../../ports/micros.js';
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { CrashLoopDecision } from '../backoff/crash-loop-backoff.js';
import * as crashLoop from '../backoff/crash-loop-backoff.js';
import type { ImagePullBackoff, PullProblem } from '../backoff/image-pull-backoff.js';
import * as imagePull from '../backoff/image-pull-backoff.js';
import type { KeyedBackoff } from '../backoff/keyed-backoff.js';
import { containerShape, podShape } from './api-object-shapes.js';
import { checkArgument, micros, nullable, recordOf, someMap, text, wholeNumber } from './shape.js';

const delay = wholeNumber(1, Number.MAX_SAFE_INTEGER);
/** The functions here write the entries; validating each on every call would cost as much as all pods together. */
const tableShape = recordOf({ initial: delay, max: delay, entries: someMap });
export const pullTableShape = recordOf({ delays: tableShape, lastProblems: someMap });

/**
 * The table of CrashLoopBackOff delays: 10 s, doubled with each crash, up to the maximum; forgotten after twice the maximum (KEP-4603).
 * @param maxContainerRestartPeriod `crashLoopBackOff.maxContainerRestartPeriod` in microseconds; null: the default, 5 minutes
 * @returns plain data, changed in place by `decideCrashLoop`
 * @throws AssertionFailed where the period is no integer above 0
 */
export function newCrashLoopBackoff(maxContainerRestartPeriod: Micros | null): KeyedBackoff {
  checkArgument('maxContainerRestartPeriod', maxContainerRestartPeriod, nullable(delay));
  return crashLoop.newCrashLoopBackoff(maxContainerRestartPeriod);
}

/**
 * Whether a terminated container may start now. A yes moves it to its next delay, a no leaves the table unchanged.
 * @param backoff of `newCrashLoopBackoff`
 * @param container one of the pod's; another image or other resources make it a new one
 * @param newestExitedFinishedAt end of its newest terminated run, microseconds since the epoch; null if none
 * @param now microseconds since the epoch
 * @returns when to try again, with the kubelet's message and event
 * @throws AssertionFailed where an argument has another type
 */
export function decideCrashLoop(backoff: KeyedBackoff, pod: Pod, container: Container, newestExitedFinishedAt: Micros | null, now: Micros): CrashLoopDecision {
  checkArgument('backoff', backoff, tableShape);
  checkArgument('pod', pod, podShape);
  checkArgument('container', container, containerShape);
  checkArgument('newestExitedFinishedAt', newestExitedFinishedAt, nullable(micros));
  checkArgument('now', now, micros);
  return crashLoop.decideCrashLoop(backoff, pod, container, newestExitedFinishedAt, now);
}

/**
 * The table of ImagePullBackOff delays: 10 s, doubled with each failure, up to 5 minutes.
 * @returns plain data, changed in place by `imagePullFailed`
 */
export function newImagePullBackoff(): ImagePullBackoff {
  return imagePull.newImagePullBackoff();
}

/**
 * The problem to report instead of a pull now; null: a pull may be tried.
 * @param image as in the pod's spec
 * @param now microseconds since the epoch
 * @throws AssertionFailed where an argument has another type
 */
export function imagePullWait(backoff: ImagePullBackoff, podUid: string, image: string, now: Micros): PullProblem | null {
  checkPull(backoff, podUid, image, now);
  return imagePull.imagePullWait(backoff, podUid, image, now);
}

/**
 * Records a failed pull, and returns the problem to report.
 * @param image as in the pod's spec
 * @param errorText the runtime's; some beginnings have reasons of their own
 * @param now microseconds since the epoch
 * @throws AssertionFailed where an argument has another type
 */
export function imagePullFailed(backoff: ImagePullBackoff, podUid: string, image: string, errorText: string, now: Micros): PullProblem {
  checkPull(backoff, podUid, image, now);
  checkArgument('errorText', errorText, text);
  return imagePull.imagePullFailed(backoff, podUid, image, errorText, now);
}

function checkPull(backoff: ImagePullBackoff, podUid: string, image: string, now: Micros): void {
  checkArgument('backoff', backoff, pullTableShape);
  checkArgument('podUid', podUid, text);
  checkArgument('image', image, text);
  checkArgument('now', now, micros);
}
