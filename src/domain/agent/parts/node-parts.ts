// Parts that watch over the node as a whole: its facts and warnings, eviction, shutdown.
import { evictionAddress, evictionReplied, evictionWoken, planEviction } from '../eviction.js';
import { beginNodeShutdown, nodeShutdownAddress, nodeShutdownReplied, nodeShutdownWoken, planNodeShutdown, shutdownSignalled, shutdownSignalsLost } from '../node-shutdown.js';
import { recordOomKill, warnOfNode } from '../node-warnings.js';
import type { AgentPart } from '../part.js';
import { withRuntimeFacts } from '../runtime-facts.js';
import { syncPods } from '../sync-loop.js';

/** What is known of the node; `pkg/kubelet/oom`. */
export const nodeFacts: AgentPart = {
  name: 'nodeFacts',
  start: (context) => {
    Object.assign(context.state, { startedAt: context.turn.now, startedWall: context.turn.wall, loopEnteredAt: context.turn.now });
    warnOfNode(context, null);
  },
  events: {
    nodeFacts: (context, { facts }) => {
      const before = context.state.nodeFacts;
      context.state.nodeFacts = withRuntimeFacts(context.state, facts);
      warnOfNode(context, before);
      syncPods(context, context.state.pods.pods.keys());
    },
    oomKill: (context, { kill }) => recordOomKill(context, kill),
  },
};

/** `pkg/kubelet/eviction`. */
export const evictionManager: AgentPart = {
  name: 'evictionManager',
  settle: planEviction,
  machines: { [evictionAddress.machine]: { replied: (context, _key, reply) => evictionReplied(context, reply), woken: evictionWoken } },
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
  machines: { [nodeShutdownAddress.machine]: { replied: (context, _key, reply) => nodeShutdownReplied(context, reply), woken: nodeShutdownWoken } },
};
