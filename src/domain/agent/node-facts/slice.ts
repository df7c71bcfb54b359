// Write access to what nodeFacts owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type NodeFactsContext = ContextOf<'nodeFacts'>;

/** For functions that other parts call with the context of their step. */
export const asNodeFacts: (caller: AgentContext) => NodeFactsContext = contextOf<'nodeFacts'>();

/** For functions that other parts call with their view of the state. */
export const nodeFactsState: (state: AgentView) => StateOf<'nodeFacts'> = stateOf<'nodeFacts'>();
