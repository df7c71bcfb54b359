// Write access to what allocationManager owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type AllocationManagerContext = ContextOf<'allocationManager'>;

/** For functions that other parts call with the context of their step. */
export const asAllocationManager: (caller: AgentContext) => AllocationManagerContext = contextOf<'allocationManager'>();

/** For functions that other parts call with their view of the state. */
export const allocationManagerState: (state: AgentView) => StateOf<'allocationManager'> = stateOf<'allocationManager'>();
