// Write access to what podConfig owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type PodConfigContext = ContextOf<'podConfig'>;

/** For functions that other parts call with the context of their step. */
export const asPodConfig: (caller: AgentContext) => PodConfigContext = contextOf<'podConfig'>();

/** For functions that other parts call with their view of the state. */
export const podConfigState: (state: AgentView) => StateOf<'podConfig'> = stateOf<'podConfig'>();
