// The features that schedulers find on a Node (`status.declaredFeatures`): the subset of a kubelet's features that this agent implements, each only while its
// gate is on.
// Invariant: sorted, and fixed at the start.
import { type FeatureGates, featureEnabled } from '../configuration/feature-gates.js';

/**
 * The kubelet's port translates WebSockets to SPDY, and a whole pod starts again by the rule of one container. Of the others that a kubelet of this version
 * may declare, pods' own cgroups are not resized, and pods are not given user namespaces beside the host's network.
 */
export const doneFeatures: readonly string[] = ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits'];

export function declaredFeatures(gates: FeatureGates): readonly string[] {
  return featureEnabled(gates, 'NodeDeclaredFeatures') ? doneFeatures.filter((name) => featureEnabled(gates, name)) : [];
}
