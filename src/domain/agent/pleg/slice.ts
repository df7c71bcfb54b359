// Write access to what pleg owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type PlegContext = ContextOf<'pleg'>;

/** For functions that other parts call with the context of their step. */
export const asPleg: (caller: AgentContext) => PlegContext = contextOf<'pleg'>();

/** For functions that other parts call with their view of the state. */
export const plegState: (state: AgentView) => StateOf<'pleg'> = stateOf<'pleg'>();
