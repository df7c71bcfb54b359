// Sandboxes and containers that the runtime lists, but denies to have when they are inspected. Once is normal: it was removed in between. If a later listing
// still has it, the two answers contradict each other: its pod can't be worked on, the log names it, and the pause until the next inspection doubles.
//
//   an inspection lacks a listed item -> denied -> a later listing omits it -> forgotten
//                                               -> a later listing has it, and the inspection after it lacks it: reported, as after a failed inspection
import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';
import type { RelistedPod } from '../../pleg/lifecycle-events.js';

import { planLookAfterFailure } from './looks.js';
import type { PlegContext } from './slice.js';

/** An inspection has answered that is newer than the pod's listing. Returns whether it denies items for the first time. */
export function noteDenied(context: PlegContext, uid: string, found: PodRuntimeStatus | null): boolean {
  const { relist, pleg } = context.state;
  const listed = pleg.records.get(uid)?.listed ?? null;
  const ids = idsOf(found);
  const missing = [...idsOf(listed)].filter((id) => !ids.has(id));
  if (missing.length === 0) return false;
  const before = relist.denied.get(uid);
  if (before === undefined || !missing.every((id) => before.has(id))) {
    relist.denied.set(uid, new Set(missing));
    return true;
  }
  context.turn.log('error', 'The runtime lists sandboxes or containers that it says are not found', { podUID: uid, ids: missing.join(', ') });
  planLookAfterFailure(context, uid);
  return false;
}

/** A complete listing has these pods. */
export function forgetDenied({ state: { relist } }: PlegContext, pods: readonly RelistedPod[]): void {
  if (relist.denied.size === 0) return;
  const listed = new Map(pods.flatMap((pod) => (relist.denied.has(pod.uid) ? [[pod.uid, pod] as const] : [])));
  for (const [uid, denied] of relist.denied) {
    const ids = idsOf(listed.get(uid) ?? null);
    if ([...denied].some((id) => ids.has(id))) continue;
    relist.denied.delete(uid);
    relist.failures.delete(uid);
  }
}

function idsOf(pod: RelistedPod | null): ReadonlySet<string> {
  return new Set(pod === null ? [] : [...pod.sandboxes, ...pod.containers].map(({ id }) => id));
}
