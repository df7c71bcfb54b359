// Write access to what housekeeping owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type HousekeepingContext = ContextOf<'housekeeping'>;

/** For functions that other parts call with the context of their step. */
export const asHousekeeping: (caller: AgentContext) => HousekeepingContext = contextOf<'housekeeping'>();

/** For functions that other parts call with their view of the state. */
export const housekeepingState: (state: AgentView) => StateOf<'housekeeping'> = stateOf<'housekeeping'>();
