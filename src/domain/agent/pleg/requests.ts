// What other parts request of the lister of pod lifecycle events, and of the cache of statuses.

import type { Micros } from '../../../ports/micros.js';
import { requestReinspection } from '../../pleg/pleg.js';
import type { ContainerMoments } from '../../pod-cache/container-moments.js';
import { deleteFromPodCache } from '../../pod-cache/pod-cache.js';
import type { AgentView } from '../agent-view.js';
import { plegState } from './slice.js';

/** The next relist inspects the pod even if its listing is unchanged. */
export function requestReinspectionOf(state: AgentView, uid: string): void {
  requestReinspection(plegState(state).pleg, uid);
}

/** Drops the status of a pod that the runtime has no more. */
export function forgetCachedStatus(state: AgentView, uid: string): void {
  if (!state.pleg.records.has(uid)) deleteFromPodCache(plegState(state).cache, uid);
}

/** What the previous agent observed of the containers of a pod. */
export function recallMoments(state: AgentView, uid: string, moments: ReadonlyMap<string, ContainerMoments>): void {
  const { cache } = plegState(state);
  cache.moments.set(uid, moments);
  cache.changedMoments.add(uid);
}

/** Up to when the previous agent observed everything; null: unknown. */
export function recallObservedBefore(state: AgentView, moment: Micros | null): void {
  plegState(state).cache.observedBefore = moment;
}

/** The changes of moments are written down. */
export function momentsTaken(state: AgentView): void {
  plegState(state).cache.changedMoments.clear();
}
