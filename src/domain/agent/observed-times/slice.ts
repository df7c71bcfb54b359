// Write access to what observedTimes owns. No other folder imports this file.
import type { AgentView } from '../agent-view.js';
import { type ContextOf, type StateOf, stateOf } from '../ownership.js';

export type ObservedTimesContext = ContextOf<'observedTimes'>;

/** For functions that other parts call with their view of the state. */
export const observedTimesState: (state: AgentView) => StateOf<'observedTimes'> = stateOf<'observedTimes'>();
