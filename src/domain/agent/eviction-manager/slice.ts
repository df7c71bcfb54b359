// Write access to what evictionManager owns. No other folder imports this file.
import type { AgentView } from '../agent-view.js';
import { type ContextOf, type StateOf, stateOf } from '../ownership.js';

export type EvictionManagerContext = ContextOf<'evictionManager'>;

/** For functions that other parts call with their view of the state. */
export const evictionManagerState: (state: AgentView) => StateOf<'evictionManager'> = stateOf<'evictionManager'>();
