// Write access to what userNamespaceManager owns. No other folder imports this file.
import type { AgentView } from '../agent-view.js';
import { type StateOf, stateOf } from '../ownership.js';

/** For functions that other parts call with their view of the state. */
export const userNamespaceManagerState: (state: AgentView) => StateOf<'userNamespaceManager'> = stateOf<'userNamespaceManager'>();
