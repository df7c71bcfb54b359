// Write access to what draManager owns. No other folder imports this file.
import type { AgentView } from '../agent-view.js';
import { type ContextOf, type StateOf, stateOf } from '../ownership.js';

export type DraManagerContext = ContextOf<'draManager'>;

/** For functions that other parts call with their view of the state. */
export const draManagerState: (state: AgentView) => StateOf<'draManager'> = stateOf<'draManager'>();
