// Pods that must read the API's data again, since something that they show or wait for has arrived or changed.
import type { AgentContext } from '../agent-context.js';
import type { ApiState } from '../reflectors/api-state.js';
import { drain } from '../sync-loop/sync-loop.js';

/** Resumes waiting runs, a few a step; @param changed other pods must also update their volumes */
export function notifyPods(context: AgentContext, api: ApiState, uids: readonly string[], changed: boolean): void {
  const { backlog } = context.state;
  for (const uid of uids) {
    backlog.woken.add(uid);
    if (!changed) continue;
    api.outdated.add(uid);
    backlog.syncs.add(uid);
  }
  drain(context);
}
