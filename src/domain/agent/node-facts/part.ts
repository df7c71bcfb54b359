// What is known of the node, and events about it.
import type { AgentPart } from '../part.js';
import { beginNodeFacts, takeNodeFacts } from './node-facts.js';
import { recordOomKill } from './node-warnings.js';

/** What is known of the node; `pkg/kubelet/oom`. */
export const nodeFacts: AgentPart<'nodeFacts'> = {
  name: 'nodeFacts',
  start: beginNodeFacts,
  events: {
    nodeFacts: (context, { facts }) => takeNodeFacts(context, facts),
    oomKill: (context, { kill }) => recordOomKill(context, kill),
  },
};
