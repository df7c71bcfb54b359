// Pods that have to look at the API's data again, since something that they show or wait for has come or changed.
import type { AgentContext } from './agent-context.js';
import type { ApiState } from './api-state.js';
import { drain } from './sync-loop.js';

/** Runs that wait look again, a few a step; @param changed others have to work on their volumes anew */
export function tellPods(context: AgentContext, api: ApiState, uids: readonly string[], changed: boolean): void {
  const { backlog } = context.state;
  for (const uid of uids) {
    backlog.woken.add(uid);
    if (!changed) continue;
    api.outdated.add(uid);
    backlog.syncs.add(uid);
  }
  drain(context);
}
