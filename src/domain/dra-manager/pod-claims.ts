// The claims of a pod, by their names in the API, and whether the pod may use each as it is.
// Invariant: the texts are the Go kubelet's; users see them in events.
import type { Container } from '../../ports/model/container.js';
import type { Pod, PodResourceClaim } from '../../ports/model/pod.js';
import type { ResourceClaim } from '../../ports/model/resource-claim.js';
import { isClaimedExtendedResource } from '../values/resource-name.js';

export interface UsedClaim {
  readonly name: string;
  /** Made from a template for this pod: it is of no other. */
  readonly isOwn: boolean;
}

/** A container's use of a claim. */
export interface ClaimUse {
  readonly claimName: string;
  /** '': all its devices. */
  readonly request: string;
}

type Resolved<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

export function usesClaims({ spec, status }: Pod): boolean {
  return (spec.resourceClaims ?? []).length > 0 || status?.extendedResourceClaimStatus !== undefined;
}

/** In the pod's order; the claim behind its extended resources is the last. Skips those without an object of their own. */
export function usedClaims(pod: Pod): Resolved<readonly UsedClaim[]> {
  const used: UsedClaim[] = [];
  for (const claim of pod.spec.resourceClaims ?? []) {
    const name = claimNameOf(pod, claim);
    if (!name.ok) return name;
    if (name.value !== null) used.push({ name: name.value, isOwn: claim.resourceClaimName === undefined });
  }
  const extended = pod.status?.extendedResourceClaimStatus;
  if (extended !== undefined) used.push({ name: extended.resourceClaimName, isOwn: false });
  return { ok: true, value: used };
}

/** null: none was made, since none is needed. */
function claimNameOf(pod: Pod, { name, resourceClaimName }: PodResourceClaim): Resolved<string | null> {
  if (resourceClaimName !== undefined) return { ok: true, value: resourceClaimName };
  const status = (pod.status?.resourceClaimStatuses ?? []).find((one) => one.name === name);
  if (status === undefined) return { ok: false, message: `pod ${JSON.stringify(`${pod.metadata.namespace ?? ''}/${pod.metadata.name}`)}: ResourceClaim not created yet` };
  return { ok: true, value: status.resourceClaimName ?? null };
}

/** Of the pod's claims, in its order, then of the claim behind its extended resources. */
export function claimUses(pod: Pod, container: Container): Resolved<readonly ClaimUse[]> {
  const uses: ClaimUse[] = [];
  const wanted = container.resources?.claims ?? [];
  for (const claim of wanted.length === 0 ? [] : (pod.spec.resourceClaims ?? [])) {
    const name = claimNameOf(pod, claim);
    if (!name.ok) return name;
    if (name.value === null) continue;
    for (const { name: of, request = '' } of wanted) if (of === claim.name) uses.push({ claimName: name.value, request });
  }
  const extended = pod.status?.extendedResourceClaimStatus;
  for (const resource of extended === undefined ? [] : Object.keys(container.resources?.requests ?? {})) {
    if (!isClaimedExtendedResource(resource)) continue;
    for (const mapping of extended?.requestMappings ?? []) {
      if (mapping.containerName === container.name && mapping.resourceName === resource) uses.push({ claimName: extended?.resourceClaimName ?? '', request: mapping.requestName });
    }
  }
  return { ok: true, value: uses };
}

/** Why the pod can't use the claim; null: it can. */
export function claimProblem(pod: Pod, { name, isOwn }: UsedClaim, claim: ResourceClaim): string | null {
  const { metadata, status } = claim;
  const { uid = '', namespace = '' } = pod.metadata;
  const isOwned = (metadata.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === uid);
  if (isOwn && !isOwned) return `ResourceClaim ${metadata.namespace ?? ''}/${metadata.name} was not created for Pod ${namespace}/${pod.metadata.name} (Pod is not owner)`;
  if (!(status?.reservedFor ?? []).some((consumer) => consumer.uid === uid))
    return `pod ${pod.metadata.name} (${uid}) is not allowed to use ResourceClaim ${name} (${metadata.uid ?? ''})`;
  return status?.allocation === undefined ? `ResourceClaim ${name}: not allocated` : null;
}

/** The drivers whose devices the claim has, in the order of its allocation. */
export function driversOf({ status }: ResourceClaim): readonly string[] {
  return [...new Set((status?.allocation?.devices?.results ?? []).map(({ driver }) => driver))];
}
