// Write access to what resourceManagers owns. No other folder imports this file.
import type { AgentView } from '../agent-view.js';
import { type ContextOf, type StateOf, stateOf } from '../ownership.js';

export type ResourceManagersContext = ContextOf<'resourceManagers'>;

/** For functions that other parts call with their view of the state. */
export const resourceManagersState: (state: AgentView) => StateOf<'resourceManagers'> = stateOf<'resourceManagers'>();
