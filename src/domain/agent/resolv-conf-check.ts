// The node's resolver file against the limits of pods: an operator learns of it before pods do, at the start and when the file has changed.
import type { NodeFacts } from '../containers/node-facts.js';
import { resolvConfEvents } from '../dns/pod-dns.js';
import type { AgentContext } from './agent-context.js';

/** @param before the facts that were known until now; null: none */
export function checkResolvConf(context: AgentContext, before: NodeFacts | null): void {
  const { nodeFacts } = context.state;
  if (before?.resolvConf === nodeFacts.resolvConf) return;
  for (const { reason, message } of resolvConfEvents(nodeFacts)) context.nodeWarning(reason, message);
}
