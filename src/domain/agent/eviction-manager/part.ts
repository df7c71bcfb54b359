// Ends pods when the node runs out of memory, disk space or process ids.
import type { AgentPart } from '../part.js';
import { evictionAddress, evictionWoken, planEviction, summaryReplied } from './eviction.js';

/** `pkg/kubelet/eviction`. */
export const evictionManager: AgentPart<'evictionManager'> = {
  name: 'evictionManager',
  settle: planEviction,
  machines: { [evictionAddress.machine]: { replies: { 'nodeStats.summary': (context, _key, answer) => summaryReplied(context, answer) }, woken: evictionWoken } },
};
