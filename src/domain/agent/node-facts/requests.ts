// What other parts report to the facts of the node.
import type { NodeFacts } from '../../containers/node-facts.js';
import type { AgentView } from '../agent-view.js';
import { nodeFactsState } from './slice.js';

/** The handlers of the runtime and the classes of the API have changed. */
export function replaceRuntimeFacts(view: AgentView, facts: Pick<NodeFacts, 'runtimeClasses' | 'runtimeHandlers'>): void {
  const state = nodeFactsState(view);
  state.nodeFacts = { ...state.nodeFacts, ...facts };
}
