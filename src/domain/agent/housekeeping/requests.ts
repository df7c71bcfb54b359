// What other parts request of the housekeeping.
import type { Micros } from '../../../ports/micros.js';
import type { AgentView } from '../agent-view.js';
import { housekeepingState } from './slice.js';

/** Something changed that may leave something to clean up. */
export function requestCleanUp(state: AgentView): void {
  housekeepingState(state).housekeeping.dirty = true;
}

/** A complete pass is made at this time at the latest, even without known remains. */
export function requestPassBy(state: AgentView, at: Micros): void {
  const { housekeeping } = housekeepingState(state);
  housekeeping.passAt = Math.min(housekeeping.passAt ?? Number.POSITIVE_INFINITY, at);
}

/** A pass without known remains is made within the period. Its cost grows with everything on the node. */
export function planSafetyNet(state: AgentView, at: Micros): void {
  housekeepingState(state).housekeeping.passAt ??= at;
}

/** Removes a pod from those whose workers are done and that their source has no more. */
export function takeEnded(state: AgentView, uid: string): void {
  housekeepingState(state).housekeeping.ended.delete(uid);
}
