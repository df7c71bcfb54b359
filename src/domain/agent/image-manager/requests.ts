// What other parts request of the image manager.
import type { Micros } from '../../../ports/micros.js';
import { imagePullSucceeded } from '../../backoff/image-pull-backoff.js';
import type { AgentView } from '../agent-view.js';
import { imageManagerState } from './slice.js';

/** Drops the back-offs of pulls that have expired. */
export function forgetPullBackoffs(state: AgentView, now: Micros): void {
  imagePullSucceeded(imageManagerState(state).images.backoff, now);
}

/** The record of a pull is removed from the disk. */
export function forgetPullRecord(state: AgentView, imageRef: string): void {
  imageManagerState(state).images.records.records.delete(imageRef);
}
