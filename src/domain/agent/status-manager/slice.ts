// Write access to what statusManager owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type StatusManagerContext = ContextOf<'statusManager'>;

/** For functions that other parts call with the context of their step. */
export const asStatusManager: (caller: AgentContext) => StatusManagerContext = contextOf<'statusManager'>();

/** For functions that other parts call with their view of the state. */
export const statusManagerState: (state: AgentView) => StateOf<'statusManager'> = stateOf<'statusManager'>();
