// Pods that count for admission and are started again after a restart: not ended, not ending by a terminal phase, not refused.
import type { Pod } from '../../../ports/model/pod.js';
import { isPodTerminationRequested } from '../../pod-workers/queries.js';
import { isTerminalPhase } from '../../status/phase.js';
import type { AgentView } from '../agent-view.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { isAside } from '../set-aside/aside-pods.js';

/** @param except the uid of a pod to omit; null: all */
export function activePods(state: AgentView, except: string | null = null): Pod[] {
  const active: Pod[] = [];
  for (const [uid, pod] of state.pods.pods) if (uid !== except && isActive(state, pod)) active.push(pod);
  return active;
}

/** Those of them that may be ended: pods that are set aside keep their resources, and are left alone. */
export function workedOnPods(state: AgentView): Pod[] {
  const active = activePods(state);
  return state.setAside.pods.size === 0 ? active : active.filter((pod) => !isAside(state, uidOf(pod)));
}

export function isActive({ workers, statuses, admission }: AgentView, pod: Pod): boolean {
  const uid = uidOf(pod);
  if (admission.rejected.has(uid) || workers.records.get(uid)?.terminatedAt != null) return false;
  const ended = isTerminalPhase(pod.status?.phase) || isTerminalPhase(statuses.get(uid)?.status.phase);
  return !ended || isPodTerminationRequested(workers, uid);
}
