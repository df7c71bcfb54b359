// activeDeadlineSeconds: how long a pod may be on its node, counted from its start time.
// Invariant: a pod without a start time is never past it.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import { microsPerSecond, parseRfc3339 } from '../values/time.js';

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
 * When the pod's deadline passes; null when it has none.
 * @param status the status before this one: cached, else the API's
 */
export function activeDeadline(pod: Pod, status: PodStatus): Micros | null {
  const seconds = pod.spec.activeDeadlineSeconds;
  const startTime = status.startTime === undefined ? null : parseRfc3339(status.startTime);
  return seconds === undefined || startTime === null ? null : startTime + seconds * microsPerSecond;
}

export function isPastActiveDeadline(pod: Pod, status: PodStatus, now: Micros): boolean {
  const deadline = activeDeadline(pod, status);
  return deadline !== null && now >= deadline;
}
