// Features that a pod needs and this agent lacks. Such a pod stays in ContainerCreating, and an event says why: no requested
// feature is ever silently omitted. A change that adds a feature removes its lines here.
import type { Container } from '../../../ports/model/container.js';
import type { Pod } from '../../../ports/model/pod.js';
import { usesClaims } from '../../dra-manager/pod-claims.js';

export interface MissingFeature {
  readonly reason: 'FailedCreatePodContainer';
  readonly message: string;
}

/** The first thing that is missing, or null when the pod can run. */
export function missingFeature(pod: Pod, hasClaims: boolean): MissingFeature | null {
  const problem = (hasClaims ? null : podProblem(pod)) ?? containerProblem(pod);
  return problem === null ? null : { reason: 'FailedCreatePodContainer', message: `unable to ensure pod container exists: this kubelet does not have ${problem} yet` };
}

function podProblem(pod: Pod): string | null {
  if (usesClaims(pod)) return 'dynamic resource allocation (resourceClaims)';
  return null;
}

function containerProblem(pod: Pod): string | null {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
    const feature = featureOf(pod, container);
    if (feature !== null) return `${feature} of container ${JSON.stringify(container.name)}`;
  }
  return null;
}

function featureOf({ status }: Pod, container: Container): string | null {
  const claimed = (status?.extendedResourceClaimStatus?.requestMappings ?? []).flatMap((mapping) => (mapping.containerName === container.name ? [mapping.resourceName] : []));
  const devices = Object.keys({ ...container.resources?.limits, ...container.resources?.requests }).filter((name) => name.includes('/') && !claimed.includes(name));
  return devices.length > 0 ? `device plugins (${devices.join(', ')})` : null;
}
