// Which features of a node a pod needs, of those that a node declares because older ones don't have them: to run at all, and for a change of
// its spec. Every other feature a kubelet of this version either has or refuses by itself.
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

/** So that what changed of a pod that is there already comes about. */
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
