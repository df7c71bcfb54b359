// The status to patch into the API: the kubelet's status over the API's; conditions of other owners and claim statuses stay.
// Invariant: no terminal phase is reported while containers may run, since others take a terminal phase for the
// release of all the pod's resources; and no terminal pod is reported as ready.
import type { Instant } from '../../ports/instant.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodCondition, PodStatus } from '../../ports/model/pod-status.js';
import { formatRfc3339 } from '../values/time.js';
import { conditionTypes, findCondition, isKubeletOwnedCondition, isSharedCondition, terminalReadyCondition, withCondition } from './conditions.js';
import { isTerminalPhase } from './phase.js';

export interface StatusMergeInput {
  /** The pod as the API server has it now. */
  readonly apiPod: Pod;
  /** The kubelet's, as cached. */
  readonly status: PodStatus;
  /** Containers of the pod may still run, or resources that it holds alone are not released yet. */
  readonly couldHaveRunningContainers: boolean;
  readonly wall: Instant;
}

const claimFields = ['resourceClaimStatuses', 'extendedResourceClaimStatus', 'nodeAllocatableResourceClaimStatuses'] as const;

export function mergedStatus({ apiPod, status, couldHaveRunningContainers, wall }: StatusMergeInput): PodStatus {
  const api = apiPod.status ?? {};
  const turnsTerminal = !isTerminalPhase(api.phase) && isTerminalPhase(status.phase);
  const merged: { -readonly [Field in keyof PodStatus]: PodStatus[Field] } = { ...status };
  for (const field of claimFields) takeOver(merged, api, field);
  if (turnsTerminal && couldHaveRunningContainers) {
    for (const field of ['phase', 'reason', 'message'] as const) takeOver(merged, api, field);
  }
  let conditions = mergedConditions(api, status, turnsTerminal && !couldHaveRunningContainers, wall);
  if (merged.phase !== undefined && isTerminalPhase(merged.phase)) conditions = withoutReadiness(apiPod, conditions, merged.phase, wall);
  if (conditions.length > 0) merged.conditions = conditions;
  else delete merged.conditions;
  return merged;
}

function takeOver<Field extends keyof PodStatus>(to: { -readonly [Name in keyof PodStatus]: PodStatus[Name] }, from: PodStatus, field: Field): void {
  const value = from[field];
  if (value === undefined) delete to[field];
  else to[field] = value;
}

function mergedConditions(api: PodStatus, status: PodStatus, reportsDisruption: boolean, wall: Instant): readonly PodCondition[] {
  let conditions: readonly PodCondition[] = (api.conditions ?? []).filter((condition) => !isKubeletOwnedCondition(condition.type));
  for (const condition of status.conditions ?? []) {
    if (isKubeletOwnedCondition(condition.type)) conditions = [...conditions, condition];
    // Held back until now, so the time it was noted at is stale.
    else if (isSharedCondition(condition.type) && reportsDisruption) conditions = withCondition(conditions, withTransitionTime(condition, api, wall));
  }
  return conditions;
}

/** The condition with the time of its last change of status: that of `before` while the status value is the same, else now. */
export function withTransitionTime(condition: PodCondition, before: PodStatus, wall: Instant): PodCondition {
  const old = findCondition(before.conditions, condition.type);
  if (old === null || old.status !== condition.status) return timed(condition, formatRfc3339(wall));
  if (saysNothingNew(condition, old)) return old;
  const { lastTransitionTime: _, ...rest } = condition;
  return old.lastTransitionTime === undefined ? rest : { ...rest, lastTransitionTime: old.lastTransitionTime };
}

/** A missing member comes first in the copy: appending it costs many times as much. */
function timed(condition: PodCondition, lastTransitionTime: string): PodCondition {
  return 'lastTransitionTime' in condition ? { ...condition, lastTransitionTime } : { lastTransitionTime, ...condition };
}

/** Then the old object can be kept, whose identity shows later code that nothing changed. */
function saysNothingNew(condition: PodCondition, old: PodCondition): boolean {
  return (
    condition.lastTransitionTime === undefined &&
    condition.lastProbeTime === undefined &&
    old.lastProbeTime === undefined &&
    condition.reason === old.reason &&
    condition.message === old.message &&
    condition.observedGeneration === old.observedGeneration
  );
}

function withoutReadiness(apiPod: Pod, conditions: readonly PodCondition[], phase: NonNullable<PodStatus['phase']>, wall: Instant): readonly PodCondition[] {
  const { ready, containersReady } = conditionTypes;
  const isTrue = (type: string): boolean => findCondition(conditions, type)?.status === 'True';
  if (!isTrue(ready) && !isTrue(containersReady)) return conditions;
  let result = conditions;
  for (const type of [containersReady, ready] as const) {
    const before = { conditions: result };
    result = withCondition(result, withTransitionTime(terminalReadyCondition(type, phase, apiPod.metadata.generation), before, wall));
  }
  return result;
}
