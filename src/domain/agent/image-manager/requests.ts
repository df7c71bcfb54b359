// What other parts request of the image manager.
import type { Micros } from '../../../ports/micros.js';
import { imagePullSucceeded } from '../../backoff/image-pull-backoff.js';
import { resumeIdentityWaits } from '../../images/image-manager.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { asImageManager, imageManagerState } from './slice.js';

/** Drops the back-offs of pulls that have expired. */
export function forgetPullBackoffs(state: AgentView, now: Micros): void {
  imagePullSucceeded(imageManagerState(state).images.backoff, now);
}

/** The record of a pull is removed from the disk. */
export function forgetPullRecord(state: AgentView, imageRef: string): void {
  imageManagerState(state).images.records.records.delete(imageRef);
}

/** A token or a service account for a credential plugin has arrived, or its request has failed. */
export function pullIdentityArrived(caller: AgentContext): void {
  resumeIdentityWaits(asImageManager(caller));
}
