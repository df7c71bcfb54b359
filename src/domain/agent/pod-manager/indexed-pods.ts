// Changes of the index of pods.
import type { Pod } from '../../../ports/model/pod.js';
import type { AgentView } from '../agent-view.js';
import { putPod, removePod } from './pod-index.js';
import { podManagerState } from './slice.js';

/** The pod is one of the node's, or has changed. */
export function addToIndex(state: AgentView, pod: Pod): void {
  putPod(podManagerState(state).pods, pod);
}

/** No source has the pod any more. */
export function removeFromIndex(state: AgentView, pod: Pod): void {
  removePod(podManagerState(state).pods, pod);
}
