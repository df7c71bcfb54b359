// What other parts report to the eviction manager.
import type { AgentView } from '../agent-view.js';
import { evictionManagerState } from './slice.js';

/** No source has the pod any more. */
export function forgetEvicted(state: AgentView, uid: string): void {
  evictionManagerState(state).eviction.evicted.delete(uid);
}
