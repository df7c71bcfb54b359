// What other parts request of the sync loop.
import type { AgentView } from '../agent-view.js';
import { syncLoopState } from './slice.js';

/** Runs and volumes of these pods may resume: something that they wait for has arrived. */
export function resumeRuns(state: AgentView, uids: Iterable<string>): void {
  const { woken } = syncLoopState(state).backlog;
  for (const uid of uids) woken.add(uid);
}

/** These pods are synced when the loop has its turn. */
export function requestSyncs(state: AgentView, uids: Iterable<string>): void {
  const { syncs } = syncLoopState(state).backlog;
  for (const uid of uids) syncs.add(uid);
}

/** Workers that wait for a status of the runtime may resume. */
export function statusesArrived(state: AgentView): void {
  syncLoopState(state).backlog.statusesCame = true;
}
