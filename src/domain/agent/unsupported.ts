// What a pod needs that this agent does not have yet. Such a pod stays in ContainerCreating, and an event says why: nothing that a spec
// asks for is ever silently left out. Each part of the agent that lands takes its lines out of here.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';

export interface MissingFeature {
  readonly reason: 'FailedCreatePodContainer';
  readonly message: string;
}

/** The first thing that is missing, or null when the pod can run. */
export function missingFeature(pod: Pod): MissingFeature | null {
  const problem = podProblem(pod) ?? containerProblem(pod);
  return problem === null ? null : { reason: 'FailedCreatePodContainer', message: `unable to ensure pod container exists: this kubelet does not have ${problem} yet` };
}

function podProblem(pod: Pod): string | null {
  if ((pod.spec.resourceClaims ?? []).length > 0) return 'dynamic resource allocation (resourceClaims)';
  return null;
}

function containerProblem(pod: Pod): string | null {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
    const feature = featureOf(container);
    if (feature !== null) return `${feature} of container ${JSON.stringify(container.name)}`;
  }
  return null;
}

function featureOf(container: Container): string | null {
  const devices = Object.keys({ ...container.resources?.limits, ...container.resources?.requests }).filter((name) => name.includes('/'));
  return devices.length > 0 ? `device plugins (${devices.join(', ')})` : null;
}
