// Write access to what imageManager owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

/** For functions that other parts call with the context of their step. */
export const asImageManager: (caller: AgentContext) => ContextOf<'imageManager'> = contextOf<'imageManager'>();

/** For functions that other parts call with their view of the state. */
export const imageManagerState: (state: AgentView) => StateOf<'imageManager'> = stateOf<'imageManager'>();
