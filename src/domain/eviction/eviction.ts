// What evicting a pod means for it: how long it gets, its last status, the event.
// Invariant: a critical pod is never evicted.
import type { Pod } from '../../ports/model/pod.js';
import type { PodCondition } from '../../ports/model/pod-status.js';

/** Reason of the pod's status and of the event, and of refusals at admission under pressure. */
export const evictedReason = 'Evicted';
/** The condition of a pod that was ended for the node's sake, not by its owner. */
const disruptionTargetCondition = 'DisruptionTarget';
const terminationByKubelet = 'TerminationByKubelet';

/** Seconds a pod gets when the node can't wait. */
export const immediateGracePeriodSeconds = 1;

export interface Eviction {
  readonly pod: Pod;
  /** Replaces the pod's own. 0 and below are raised to the least that a kill gives. */
  readonly gracePeriodSeconds: number;
  readonly message: string;
  /** For the event, which has type Warning and the status's reason. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Label of the metric `kubelet_evictions`. */
  readonly signal: string;
  /** null for a pod that broke its own limits: that is no disruption by the node. */
  readonly condition: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'> | null;
}

export function disruptionCondition(message: string): NonNullable<Eviction['condition']> {
  return { type: disruptionTargetCondition, status: 'True', reason: terminationByKubelet, message };
}
