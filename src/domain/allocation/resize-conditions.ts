// The two conditions of a resize: PodResizePending while it is deferred or infeasible, PodResizeInProgress from its allocation until the
// runtime has it. A condition that doesn't hold is absent.
// Invariants: a transition time moves with the reason only; an operation in progress keeps the generation for which it began; an error stays
// until the resize completes or another one is allocated.
import type { Instant } from '../../ports/instant.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodCondition } from '../../ports/model/pod-status.js';
import { conditionTypes, findCondition } from '../status/conditions.js';
import { formatRfc3339 } from '../values/time.js';

/** Replaced, never changed in place: its identity shows that it is unchanged. */
export interface ResizeConditions {
  readonly pending: PodCondition | null;
  readonly inProgress: PodCondition | null;
  /** Both, in the order in which the status has them. */
  readonly list: readonly PodCondition[];
}

export const noResize: ResizeConditions = { pending: null, inProgress: null, list: [] };

export interface ConditionText {
  readonly reason: string;
  readonly message: string;
  readonly generation: number;
}

export function resizeConditions(pending: PodCondition | null, inProgress: PodCondition | null): ResizeConditions {
  if (pending === null && inProgress === null) return noResize;
  return { pending, inProgress, list: [pending, inProgress].filter((condition) => condition !== null) };
}

export function withPending({ pending, inProgress }: ResizeConditions, text: ConditionText | null, wall: Instant): ResizeConditions {
  return resizeConditions(text === null ? null : condition(conditionTypes.podResizePending, pending, text, wall), inProgress);
}

export function withInProgress({ pending, inProgress }: ResizeConditions, text: ConditionText | null, wall: Instant): ResizeConditions {
  if (text === null) return resizeConditions(pending, null);
  const kept = inProgress === null ? text : { ...text, generation: inProgress.observedGeneration ?? 0 };
  const { reason = '', message = '' } = inProgress ?? {};
  return resizeConditions(pending, condition(conditionTypes.podResizeInProgress, inProgress, text.reason === '' ? { ...kept, reason, message } : kept, wall));
}

/** The API's conditions of a pod that an earlier agent managed. */
export function conditionsInApi({ status }: Pod): ResizeConditions {
  return resizeConditions(findCondition(status?.conditions, conditionTypes.podResizePending), findCondition(status?.conditions, conditionTypes.podResizeInProgress));
}

/** Whether a condition has changed enough for an event. */
export function isNews(before: PodCondition | null, after: PodCondition | null): boolean {
  return (before?.reason ?? null) !== (after?.reason ?? null) || before?.observedGeneration !== after?.observedGeneration || (before === null) !== (after === null);
}

function condition(type: string, before: PodCondition | null, { reason, message, generation }: ConditionText, wall: Instant): PodCondition {
  const isSameReason = before !== null && (before.reason ?? '') === reason;
  const lastTransitionTime = isSameReason ? (before.lastTransitionTime ?? null) : formatRfc3339(wall);
  const next: PodCondition = {
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime,
    ...(generation === 0 ? {} : { observedGeneration: generation }),
    ...(reason === '' ? {} : { reason }),
    ...(message === '' ? {} : { message }),
  };
  return isSameReason && before.message === next.message && before.observedGeneration === next.observedGeneration ? before : next;
}
