// Write access to what mirrorClient owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import { type ContextOf, contextOf } from '../ownership.js';

export type MirrorClientContext = ContextOf<'mirrorClient'>;

/** For functions that other parts call with the context of their step. */
export const asMirrorClient: (caller: AgentContext) => MirrorClientContext = contextOf<'mirrorClient'>();
