// What is known of the node. The host's addresses and resources apply until the Node has its own.
import type { NodeFacts } from '../../containers/node-facts.js';
import type { AgentContext } from '../agent-context.js';
import { withRuntimeFacts } from '../runtime-state/runtime-facts.js';
import { syncPods } from '../sync-loop/sync-loop.js';
import { warnOfNode } from './node-warnings.js';
import { asNodeFacts, type NodeFactsContext } from './slice.js';

export function beginNodeFacts(context: NodeFactsContext): void {
  context.state.startedAt = context.turn.now;
  warnOfNode(context, null);
}

/** @param facts of the host, or the previous ones with what is new */
export function takeNodeFacts(caller: AgentContext, facts: NodeFacts): void {
  const context = asNodeFacts(caller);
  const { state } = context;
  const before = state.nodeFacts;
  state.nodeFacts = withRuntimeFacts(state, { ...facts, ...state.nodeStatus?.overlay });
  warnOfNode(context, before);
  syncPods(context, state.pods.pods.keys());
}
