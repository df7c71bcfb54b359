// Admission of a pod by the topology manager: container by container (init containers first), request hints from all providers, merge,
// store the hint, then let every provider allocate. A provider may have to wait (for a device plugin): then the
// admission resumes at that point.
// Invariants: one admission is in progress at a time; a failure leaves the allocations of earlier containers, which are released when the pod
// is no longer active.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { mergeHints } from './merge-hints.js';
import type { ProviderHints, TopologyHint } from './topology-hint.js';
import { storedHint, storeHint, type TopologyManager } from './topology-manager.js';

export type Allocation =
  | { readonly kind: 'allocated' }
  /** Pending: ask again once the provider has its answer. */
  | { readonly kind: 'waiting' }
  /** `reason` is for errors that have one of their own. */
  | { readonly kind: 'failed'; readonly message: string; readonly reason: string | null };

export interface HintProvider {
  readonly name: string;
  containerHints(pod: Pod, container: Container): ProviderHints | null;
  podHints(pod: Pod): ProviderHints | null;
  allocate(pod: Pod, container: Container, hint: TopologyHint): Allocation;
}

/** The progress of an admission; changed in place by `continueAdmission`. */
export interface TopologyAdmission {
  readonly podUid: string;
  /** Index over init containers, then app containers. */
  container: number;
  /** How many providers have allocated for that container. */
  provider: number;
  /** Whether that container's hint is stored. */
  hinted: boolean;
}

export type TopologyAnswer = { readonly kind: 'admitted' } | { readonly kind: 'waiting' } | { readonly kind: 'refused'; readonly reason: string; readonly message: string };

export const topologyAffinityError = { reason: 'TopologyAffinityError', message: 'Resources cannot be allocated with Topology locality' } as const;
const unexpectedAdmissionError = 'UnexpectedAdmissionError';

export function beginAdmission(pod: Pod): TopologyAdmission {
  return { podUid: pod.metadata.uid ?? '', container: 0, provider: 0, hinted: false };
}

/** Continues until the pod is admitted or refused, or a provider has to wait. `pod` and `providers` are the same ones throughout. */
export function continueAdmission(manager: TopologyManager, admission: TopologyAdmission, pod: Pod, providers: readonly HintProvider[]): TopologyAnswer {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  for (; admission.container < containers.length; admission.container++) {
    const container = containers[admission.container]!;
    if (!admission.hinted && !chooseHint(manager, admission, pod, container, providers)) return { kind: 'refused', ...topologyAffinityError };
    for (; admission.provider < providers.length; admission.provider++) {
      const allocation = providers[admission.provider]!.allocate(pod, container, storedHint(manager, admission.podUid, container.name));
      if (allocation.kind === 'waiting') return allocation;
      if (allocation.kind === 'failed') return refusedBy(allocation.message, allocation.reason);
    }
    admission.provider = 0;
    admission.hinted = false;
  }
  return { kind: 'admitted' };
}

function refusedBy(message: string, reason: string | null): TopologyAnswer {
  if (reason !== null) return { kind: 'refused', reason, message };
  return { kind: 'refused', reason: unexpectedAdmissionError, message: `Allocate failed due to ${message}, which is unexpected` };
}

/** False: the policy rejects the pod. In scope `pod` the first container selects the pod's hint, which applies to all containers. */
function chooseHint(manager: TopologyManager, admission: TopologyAdmission, pod: Pod, container: Container, providers: readonly HintProvider[]): boolean {
  admission.hinted = true;
  if (manager.scope === 'none') return true;
  if (manager.scope === 'pod' && admission.container > 0) {
    const first = (pod.spec.initContainers ?? [])[0] ?? pod.spec.containers[0]!;
    storeHint(manager, admission.podUid, container.name, storedHint(manager, admission.podUid, first.name));
    return true;
  }
  const hints = providers.map((provider) => (manager.scope === 'pod' ? provider.podHints(pod) : provider.containerHints(pod, container)));
  const merged = mergeHints(manager, hints);
  if (merged.admit) storeHint(manager, admission.podUid, container.name, merged.hint);
  return merged.admit;
}
