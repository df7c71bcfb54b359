// The order in which pending resizes are retried: those without an increase first, then by priority, Guaranteed pods before others, then the
// longest waiting. Ties are broken by uid.
import type { Pod } from '../../ports/model/pod.js';
import type { PodCondition } from '../../ports/model/pod-status.js';
import { podRequests } from '../qos/pod-resources.js';
import { podQosClass } from '../qos/qos-class.js';
import { knownPriority } from '../values/pod-kind.js';
import { compareQuantities, zeroQuantity } from '../values/quantity.js';
import { byCodeUnits } from '../values/text-order.js';

export interface WaitingResize {
  readonly uid: string;
  readonly desired: Pod;
  readonly allocated: Pod;
  /** The condition PodResizePending; null: not tried yet. */
  readonly pending: PodCondition | null;
}

/** uids, first to try first. */
export function resizeOrder(waiting: readonly WaitingResize[]): string[] {
  const ranked = waiting.map((resize) => ({ ...resize, grows: isIncreasing(resize.desired, resize.allocated) }));
  ranked.sort(
    (a, b) =>
      Number(a.grows) - Number(b.grows) ||
      (knownPriority(b.desired) ?? 0) - (knownPriority(a.desired) ?? 0) ||
      Number(isGuaranteed(b.allocated)) - Number(isGuaranteed(a.allocated)) ||
      byCodeUnits(since(a.pending), since(b.pending)) ||
      byCodeUnits(a.uid, b.uid),
  );
  return ranked.map(({ uid }) => uid);
}

/** Whether it requests more cpu or memory than allocated. */
function isIncreasing(desired: Pod, allocated: Pod): boolean {
  const [after, before] = [podRequests(desired), podRequests(allocated)];
  return (['cpu', 'memory'] as const).some((name) => compareQuantities(after.get(name) ?? zeroQuantity, before.get(name) ?? zeroQuantity) > 0);
}

function isGuaranteed(pod: Pod): boolean {
  return podQosClass(pod) === 'Guaranteed';
}

/** Text of one form; '~' comes after every year. */
function since(condition: PodCondition | null): string {
  return condition?.lastTransitionTime ?? '~';
}
