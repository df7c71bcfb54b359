// Services for the environment variables of containers. Until all have been read once, no container of a pod from the API starts.
import type { ObjectChange, ReflectorState } from '../../api-cache/reflector.js';
import type { AgentContext } from '../agent-context.js';
import { syncPods } from '../sync-loop/sync-loop.js';

export function servicesChanged(context: AgentContext, _reflector: ReflectorState, _changes: readonly ObjectChange[], replaced: boolean): void {
  // Pods that failed for want of the services need not wait for their next try.
  if (replaced) syncPods(context, context.state.startFailures.keys());
}
