// What other parts report to the observed times.
import type { AgentView } from '../agent-view.js';
import { observedTimesState } from './slice.js';

/** The start time of the pod has changed, or is forgotten. */
export function startObserved(state: AgentView, uid: string): void {
  observedTimesState(state).observed.changedStarts.add(uid);
}
