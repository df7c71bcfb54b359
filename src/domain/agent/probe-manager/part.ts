// Probes of containers, and their results.
import { probeOperations } from '../../probes/ask-probe.js';
import { type AgentPart, repliesTo } from '../part.js';
import { probeMachine } from './probe-workers.js';
import { probeReplied, probeWoken } from './probing.js';

/** `pkg/kubelet/prober`. */
export const probeManager: AgentPart<'probeManager'> = {
  name: 'probeManager',
  machines: { [probeMachine]: { replies: repliesTo(probeOperations, probeReplied), woken: probeWoken } },
};
