// What other parts request of the resource managers.
import { forgetHints } from '../../topology-manager/topology-manager.js';
import type { AgentView } from '../agent-view.js';
import { resourceManagersState } from './slice.js';

/** No source has the pod any more: its alignment is of no use. */
export function forgetPodHints(state: AgentView, uid: string): void {
  const { alignment } = resourceManagersState(state);
  if (alignment !== null) forgetHints(alignment.topology, uid);
}
