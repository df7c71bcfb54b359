// Write access to what containerGC owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type ContainerGCContext = ContextOf<'containerGC'>;

/** For functions that other parts call with the context of their step. */
export const asContainerGC: (caller: AgentContext) => ContainerGCContext = contextOf<'containerGC'>();

/** For functions that other parts call with their view of the state. */
export const containerGCState: (state: AgentView) => StateOf<'containerGC'> = stateOf<'containerGC'>();
