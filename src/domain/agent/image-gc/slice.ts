// Write access to what imageGC owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type ImageGCContext = ContextOf<'imageGC'>;

/** For functions that other parts call with the context of their step. */
export const asImageGC: (caller: AgentContext) => ImageGCContext = contextOf<'imageGC'>();

/** For functions that other parts call with their view of the state. */
export const imageGCState: (state: AgentView) => StateOf<'imageGC'> = stateOf<'imageGC'>();
