// Write access to what setAside owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type SetAsideContext = ContextOf<'setAside'>;

/** For functions that other parts call with the context of their step. */
export const asSetAside: (caller: AgentContext) => SetAsideContext = contextOf<'setAside'>();

/** For functions that other parts call with their view of the state. */
export const setAsideState: (state: AgentView) => StateOf<'setAside'> = stateOf<'setAside'>();
