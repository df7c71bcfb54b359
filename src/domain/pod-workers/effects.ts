// The effects of the pod workers, in order. The caller runs the effects at once and returns the answers of those that have one.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodUpdateType, RunningPod, TerminationStatus } from './pod-worker-record.js';

/** One of the four operations on a pod; the next one of the same UID comes only after `runFinished`. */
export type PodOperation =
  | { readonly op: 'syncPod'; readonly type: PodUpdateType; readonly pod: Pod; readonly mirrorPod: Pod | null }
  | { readonly op: 'syncTerminatingPod'; readonly pod: Pod; readonly gracePeriodSeconds: number | null; readonly statusChange: TerminationStatus | null }
  | { readonly op: 'syncTerminatingRuntimePod'; readonly runningPod: RunningPod; readonly gracePeriodSeconds: number }
  | { readonly op: 'syncTerminatedPod'; readonly pod: Pod };

/** The pod needs no sync until this time; null: until an event of the pod. */
export interface PodRest {
  readonly until: Micros | null;
}

export type PodWorkerEffect =
  /** The worker's next run needs a runtime status newer than this (null: any that was ever read): answer with `runStatusRead`. */
  | { readonly kind: 'awaitStatus'; readonly uid: string; readonly newerThan: Micros | null }
  | { readonly kind: 'start'; readonly uid: string; readonly operation: PodOperation; readonly statusNewerThan: Micros | null }
  /** The operation in flight should end soon; it still answers. */
  | { readonly kind: 'cancel'; readonly uid: string }
  /** Sync the pod again after a delay uniform in [base, 1.5 base), microseconds, or at the time that `rest` has; replaces an earlier time. */
  | { readonly kind: 'enqueue'; readonly uid: string; readonly baseDelayMicros: Micros; readonly rest: PodRest | null }
  | { readonly kind: 'complete'; readonly completion: string }
  | { readonly kind: 'postSync'; readonly uid: string }
  | { readonly kind: 'failedSync'; readonly pod: Pod; readonly message: string };
