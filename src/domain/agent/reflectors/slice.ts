// Write access to what reflectors owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import { type ContextOf, contextOf } from '../ownership.js';

export type ReflectorsContext = ContextOf<'reflectors'>;

/** For functions that other parts call with the context of their step. */
export const asReflectors: (caller: AgentContext) => ReflectorsContext = contextOf<'reflectors'>();
