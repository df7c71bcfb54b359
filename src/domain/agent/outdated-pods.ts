// Pods that have to look at the API's data again, since something that they show or wait for has come or changed.
import { volumeDataArrived } from '../volume-manager/volume-operations.js';
import type { AgentContext } from './agent-context.js';
import type { ApiState } from './api-state.js';
import { operationWoken } from './pod-operations.js';
import { syncPods } from './sync-loop.js';
import { withEffects } from './worker-effects.js';

/** Runs that wait look again; @param changed others have to work on their volumes anew */
export function tellPods(context: AgentContext, api: ApiState, uids: readonly string[], changed: boolean): void {
  if (changed) for (const uid of uids) api.outdated.add(uid);
  for (const uid of uids) {
    volumeDataArrived(context.state.volumes, uid, context);
    withEffects(context, (effects) => operationWoken(context, uid, effects));
  }
  if (changed) syncPods(context, uids);
}
