// What other parts request of the collection of images.
import type { AgentView } from '../agent-view.js';
import { imageGCState } from './slice.js';

/** Whether the round that the eviction loop requested is done; it is then requested no more. */
export function takeImageCollectionDone(state: AgentView): boolean {
  const { imageCollection } = imageGCState(state);
  if (imageCollection.pressed !== 'done') return false;
  imageCollection.pressed = 'none';
  return true;
}
