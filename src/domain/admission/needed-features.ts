// The node features that a pod needs, among those that a node declares because older nodes lack them: for running at all, and for an update of
// its spec. A kubelet of this version has every other feature, or refuses it by itself.
// Invariant: names are Kubernetes' own, those of `status.declaredFeatures`.
import type { Pod } from '../../ports/model/pod.js';
import { isSameRequirements } from '../allocation/same-resources.js';
import { isRestartableInit, podHasRestartAllRule } from '../status/restart-rules.js';

/** To be started on a node. */
export function featuresNeeded(pod: Pod): readonly string[] {
  const { hostNetwork, hostUsers } = pod.spec;
  return [
    ...(podHasRestartAllRule(pod) ? ['RestartAllContainersOnContainerExits'] : []),
    ...(hostNetwork === true && hostUsers === false ? ['UserNamespacesHostNetworkSupport'] : []),
  ];
}

/** The features needed to apply an update of a running pod. */
export function featuresNeededByUpdate(before: Pod, after: Pod): readonly string[] {
  if (before.spec === after.spec) return [];
  return [
    ...(isSameRequirements(before.spec.resources, after.spec.resources) ? [] : ['InPlacePodLevelResourcesVerticalScaling']),
    ...(isAnyInitContainerResized(before, after) ? ['InPlacePodVerticalScalingInitContainers'] : []),
  ];
}

/** Sidecars don't count: nodes have long been able to resize them. */
function isAnyInitContainerResized(before: Pod, after: Pod): boolean {
  const later = after.spec.initContainers ?? [];
  return (before.spec.initContainers ?? []).some((container, i) => {
    const now = later[i];
    return now !== undefined && !isRestartableInit(container) && !isSameRequirements(container.resources, now.resources);
  });
}
