// What other parts request of the collection of dead containers.
import type { AgentView } from '../agent-view.js';
import { containerGCState } from './slice.js';

/** Something changed that may leave containers or sandboxes to collect. */
export function requestCollection(state: AgentView): void {
  containerGCState(state).collection.dirty = true;
}

/** Whether the round that the eviction loop requested is done; it is then requested no more. */
export function takeCollectionDone(state: AgentView): boolean {
  const { collection } = containerGCState(state);
  if (collection.pressed !== 'done') return false;
  collection.pressed = 'none';
  return true;
}
