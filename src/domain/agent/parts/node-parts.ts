// Parts that watch over the node as a whole: its facts and warnings, eviction, shutdown.
import { evictionAddress, evictionWoken, planEviction, summaryReplied } from '../eviction.js';
import { beginNodeFacts, takeNodeFacts } from '../node-facts.js';
import {
  beginNodeShutdown,
  inhibitReplied,
  nodeShutdownAddress,
  nodeShutdownWoken,
  planNodeShutdown,
  recordRead,
  shutdownSignalled,
  shutdownSignalsLost,
  shutdownStepReplied,
} from '../node-shutdown.js';
import { recordOomKill } from '../node-warnings.js';
import type { AgentPart } from '../part.js';

/** What is known of the node; `pkg/kubelet/oom`. */
export const nodeFacts: AgentPart = {
  name: 'nodeFacts',
  start: beginNodeFacts,
  events: {
    nodeFacts: (context, { facts }) => takeNodeFacts(context, facts),
    oomKill: (context, { kill }) => recordOomKill(context, kill),
  },
};

/** `pkg/kubelet/eviction`. */
export const evictionManager: AgentPart = {
  name: 'evictionManager',
  settle: planEviction,
  machines: { [evictionAddress.machine]: { replies: { 'nodeStats.summary': (context, _key, answer) => summaryReplied(context, answer) }, woken: evictionWoken } },
};

/** `pkg/kubelet/nodeshutdown`. */
export const nodeShutdownManager: AgentPart = {
  name: 'nodeShutdownManager',
  start: beginNodeShutdown,
  settle: planNodeShutdown,
  events: {
    'shutdown-signal': (context, { active }) => shutdownSignalled(context, active),
    'shutdown-signals-lost': shutdownSignalsLost,
  },
  machines: {
    [nodeShutdownAddress.machine]: {
      replies: {
        'nodeShutdown.inhibit': (context, _key, answer) => inhibitReplied(context, answer),
        'nodeShutdown.readRecord': (context, _key, answer) => recordRead(context, answer),
        'nodeShutdown.release': (context, _key, answer) => shutdownStepReplied(context, answer),
        'nodeShutdown.writeRecord': (context, _key, answer) => shutdownStepReplied(context, answer),
      },
      woken: nodeShutdownWoken,
    },
  },
};
