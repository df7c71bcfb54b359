// Ends pods in order when the host shuts down.
import type { AgentPart } from '../part.js';
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
} from './node-shutdown.js';

/** `pkg/kubelet/nodeshutdown`. */
export const nodeShutdownManager: AgentPart<'nodeShutdownManager'> = {
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
