// Write access to what objectManager owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import { type ContextOf, contextOf } from '../ownership.js';

export type ObjectManagerContext = ContextOf<'objectManager'>;

/** The state of the API as this part has it. */
export type ObjectApi = NonNullable<ObjectManagerContext['state']['api']>;

/** For functions that other parts call with the context of their step. */
export const asObjectManager: (caller: AgentContext) => ObjectManagerContext = contextOf<'objectManager'>();
