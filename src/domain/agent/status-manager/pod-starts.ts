// When pods started, by the monotonic clock, for durations counted from their start time.
// Invariant: the moment of a start time stays as long as the start time, even if the wall clock is set, also over restarts of the agent (`observed-times.ts`);
// a start time that no agent has written down is converted when this one first sees it.
import type { Micros } from '../../../ports/micros.js';
import type { PodStatus } from '../../../ports/model/pod-status.js';
import { type Clocks, momentOf } from '../../values/instant.js';
import { parseRfc3339 } from '../../values/time.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { startObserved } from '../observed-times/requests.js';
import type { PodStart } from './pod-start-state.js';
import { type StatusManagerContext, statusManagerState } from './slice.js';

/** null: no start time yet. */
export function podStart({ state, turn }: AgentContext, uid: string, { startTime }: PodStatus): Micros | null {
  const known = state.podStarts.get(uid);
  if (startTime === undefined) return null;
  return known?.startTime === startTime ? known.at : momentOfText(startTime, turn, state.cache.observedBefore);
}

/** The pod has this status from now on. */
export function notePodStart(context: StatusManagerContext, uid: string, status: PodStatus): void {
  const at = podStart(context, uid, status);
  if (at === null || status.startTime === undefined || context.state.podStarts.get(uid)?.startTime === status.startTime) return;
  context.state.podStarts.set(uid, { startTime: status.startTime, at });
  startObserved(context.state, uid);
}

function momentOfText(startTime: string, clocks: Clocks, notBefore: Micros | null): Micros | null {
  const stamp = parseRfc3339(startTime);
  return stamp === null ? null : momentOf(stamp, clocks, notBefore);
}

/** What the previous agent observed of the start of a pod. */
export function recallStart(state: AgentView, uid: string, start: PodStart): void {
  statusManagerState(state).podStarts.set(uid, start);
}

/** Drops the start of a pod that no part knows any more. */
export function forgetStart(state: AgentView, uid: string): void {
  statusManagerState(state).podStarts.delete(uid);
}
