// Pods that no part knows any more: what the parts have kept of them is dropped.
import type { AgentView } from '../agent-view.js';
import { forgetPodAllocation } from '../allocation-manager/allocation.js';
import { setUnprepared } from '../cgroups/prepared-pods.js';
import { forgetCachedStatus } from '../pleg/requests.js';
import { forgetStatus } from '../status-manager/pod-statuses.js';
import { forgetPodFailures } from './requests.js';

export function forgetPod(state: AgentView, uid: string): void {
  forgetPodAllocation(state, uid);
  forgetStatus(state, uid);
  setUnprepared(state, uid);
  forgetPodFailures(state, uid);
  forgetCachedStatus(state, uid);
}

/** All pods of which something is kept. */
export function forgetUnknown(state: AgentView, isKnown: (uid: string) => boolean): void {
  for (const kept of [
    state.statuses,
    state.prepared.pods,
    state.computed,
    state.startFailures,
    state.reportedMissingFeatures,
    state.cache.entries,
    state.allocation.allocated,
    state.allocation.actuated,
  ])
    for (const uid of kept.keys()) if (!isKnown(uid)) forgetPod(state, uid);
}
