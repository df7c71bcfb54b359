// activeDeadlineSeconds: how long a pod may be on its node, counted from its start time, by the clock that is never set.
// Invariant: a pod without a start time is never past it.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { microsPerSecond } from '../values/time.js';

/** Why a pod has to end now; its status gets both texts. */
export interface PodEviction {
  readonly reason: string;
  readonly message: string;
}

export const deadlineExceeded: PodEviction = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/**
 * The end of the pod's deadline; null: none.
 * @param startedAt the pod's start time; null: none yet
 */
export function activeDeadline(pod: Pod, startedAt: Micros | null): Micros | null {
  const seconds = pod.spec.activeDeadlineSeconds;
  return seconds === undefined || startedAt === null ? null : startedAt + seconds * microsPerSecond;
}

export function isPastActiveDeadline(pod: Pod, startedAt: Micros | null, now: Micros): boolean {
  const deadline = activeDeadline(pod, startedAt);
  return deadline !== null && now >= deadline;
}
