// Pods that count for admission and are started again after a restart: not ended, not ending by a terminal phase, not refused.
import type { Pod } from '../../ports/model/pod.js';
import { isPodTerminationRequested } from '../pod-workers/queries.js';
import { isTerminalPhase } from '../status/phase.js';
import type { AgentState } from './agent-state.js';
import { uidOf } from './pod-index.js';

export function activePods({ pods, workers, statuses, admission }: AgentState): Pod[] {
  return [...pods.pods.values()].filter((pod) => {
    const uid = uidOf(pod);
    if (admission.rejected.has(uid) || workers.records.get(uid)?.terminatedAt != null) return false;
    const ended = isTerminalPhase(pod.status?.phase) || isTerminalPhase(statuses.get(uid)?.status.phase);
    return !ended || isPodTerminationRequested(workers, uid);
  });
}
