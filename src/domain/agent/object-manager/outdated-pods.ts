// Pods that must read the API's data again, since something that they show or wait for has arrived or changed.
import type { AgentContext } from '../agent-context.js';
import { requestSyncs, resumeRuns } from '../sync-loop/requests.js';
import { drain } from '../sync-loop/sync-loop.js';
import { asObjectManager } from './slice.js';

/** Resumes waiting runs, a few a step; @param changed other pods must also update their volumes */
export function notifyPods(caller: AgentContext, uids: readonly string[], changed: boolean): void {
  const { state } = asObjectManager(caller);
  resumeRuns(state, uids);
  if (changed) {
    for (const uid of uids) state.api?.outdated.add(uid);
    requestSyncs(state, uids);
  }
  drain(caller);
}
