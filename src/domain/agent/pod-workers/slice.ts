// Write access to what podWorkers owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type PodWorkersContext = ContextOf<'podWorkers'>;

/** For functions that other parts call with the context of their step. */
export const asPodWorkers: (caller: AgentContext) => PodWorkersContext = contextOf<'podWorkers'>();

/** For functions that other parts call with their view of the state. */
export const podWorkersState: (state: AgentView) => StateOf<'podWorkers'> = stateOf<'podWorkers'>();
