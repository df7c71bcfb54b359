// Write access to what nodeStatus owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import { type ContextOf, contextOf } from '../ownership.js';

export type NodeStatusContext = ContextOf<'nodeStatus'>;

/** For functions that other parts call with the context of their step. */
export const asNodeStatus: (caller: AgentContext) => NodeStatusContext = contextOf<'nodeStatus'>();
