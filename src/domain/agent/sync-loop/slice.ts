// Write access to what syncLoop owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type SyncLoopContext = ContextOf<'syncLoop'>;

/** For functions that other parts call with the context of their step. */
export const asSyncLoop: (caller: AgentContext) => SyncLoopContext = contextOf<'syncLoop'>();

/** For functions that other parts call with their view of the state. */
export const syncLoopState: (state: AgentView) => StateOf<'syncLoop'> = stateOf<'syncLoop'>();
