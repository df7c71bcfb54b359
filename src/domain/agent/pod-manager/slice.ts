// Write access to what podManager owns. No other folder imports this file.
import type { AgentView } from '../agent-view.js';
import { type StateOf, stateOf } from '../ownership.js';

/** For functions that other parts call with their view of the state. */
export const podManagerState: (state: AgentView) => StateOf<'podManager'> = stateOf<'podManager'>();
