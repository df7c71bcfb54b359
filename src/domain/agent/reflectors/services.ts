// Services for the environment variables of containers. Until all have been read once, no container of a pod from the API starts.
import type { ObjectChange, ReflectorState } from '../../api-cache/reflector.js';
import { syncPods } from '../sync-loop/sync-loop.js';
import type { ReflectorsContext } from './slice.js';

export function servicesChanged(context: ReflectorsContext, _reflector: ReflectorState, _changes: readonly ObjectChange[], replaced: boolean): void {
  // Pods that failed for want of the services need not wait for their next try.
  if (replaced) syncPods(context, context.state.startFailures.keys());
}
