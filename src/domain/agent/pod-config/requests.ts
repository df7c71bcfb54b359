// What other parts report to the sources of pods.
import type { ListedPod } from '../../../ports/model/runtime-listing.js';
import { markHandled, type PodSource } from '../../pod-sources/pod-config.js';
import { podFullName } from '../../values/pod-references.js';
import type { AgentView } from '../agent-view.js';
import { podConfigState } from './slice.js';

/** The pod ran before this agent started. */
export function inheritPod(state: AgentView, { uid, name, namespace }: ListedPod): void {
  podConfigState(state).inherited.set(uid, podFullName(name, namespace));
}

/** The workers know all pods of a delivery. */
export function deliveryHandled(state: AgentView, source: PodSource): void {
  markHandled(podConfigState(state).config, source);
}
