// The objects that a node may access: those that its bound pods refer to. Corresponds to the node authorizer's graph.
import { configMapNames, secretNames } from '../../../domain/pod-sources/api-references.js';
import type { Pod } from '../../../ports/model/pod.js';
import { type ObjectStore, objectKey, type StoredChange, type StoredObject } from '../object-store.js';

const nothing: ReadonlyMap<string, Pod> = new Map();

export class PodRelations {
  private readonly byNode = new Map<string, Map<string, Pod>>();

  constructor(private readonly store: ObjectStore) {
    for (const pod of store.all('pods')) this.put(pod);
  }

  changed({ resource, key, before, after }: StoredChange): void {
    if (resource !== 'pods') return;
    const was = nodeNameOf(before);
    if (was !== null && was !== nodeNameOf(after)) this.byNode.get(was)?.delete(key);
    if (after !== null) this.put(after);
  }

  podsOf(nodeName: string): Iterable<Pod> {
    return this.byNode.get(nodeName)?.values() ?? [];
  }

  /** By key, unordered. */
  objectsOf(nodeName: string): ReadonlyMap<string, StoredObject> {
    return (this.byNode.get(nodeName) ?? nothing) as unknown as ReadonlyMap<string, StoredObject>;
  }

  /** A pod of the node names that object. */
  refers(nodeName: string, resource: string, namespace: string, name: string): boolean {
    for (const pod of this.podsOf(nodeName)) {
      if ((pod.metadata.namespace ?? '') === namespace && namesOf(pod, resource).includes(name)) return true;
    }
    return false;
  }

  /** A claim of a pod of the node is bound to that volume. */
  usesVolume(nodeName: string, volumeName: string): boolean {
    for (const pod of this.podsOf(nodeName)) {
      for (const claim of namesOf(pod, 'persistentvolumeclaims')) {
        const spec = this.store.get('persistentvolumeclaims', objectKey(pod.metadata.namespace, claim ?? ''))?.spec as { readonly volumeName?: string } | undefined;
        if (spec?.volumeName === volumeName) return true;
      }
    }
    return false;
  }

  private put(object: StoredObject): void {
    const nodeName = nodeNameOf(object);
    if (nodeName === null) return;
    const { namespace, name } = object.metadata;
    const pods = this.byNode.get(nodeName);
    if (pods === undefined) this.byNode.set(nodeName, new Map([[objectKey(namespace, name), object as unknown as Pod]]));
    else pods.set(objectKey(namespace, name), object as unknown as Pod);
  }
}

function nodeNameOf(object: StoredObject | null): string | null {
  const { nodeName } = (object?.spec ?? {}) as { readonly nodeName?: string };
  return nodeName === undefined || nodeName === '' ? null : nodeName;
}

function namesOf(pod: Pod, resource: string): readonly (string | undefined)[] {
  switch (resource) {
    case 'secrets':
      return secretNames(pod.spec);
    case 'configmaps':
      return configMapNames(pod.spec);
    case 'serviceaccounts':
      return [pod.spec.serviceAccountName];
    case 'persistentvolumeclaims':
      return (pod.spec.volumes ?? []).map(
        (volume) => volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`),
      );
    case 'resourceclaims.resource.k8s.io':
      return [
        ...(pod.spec.resourceClaims ?? []).map((claim) => claim.resourceClaimName),
        ...((pod.status?.resourceClaimStatuses ?? []) as readonly { readonly resourceClaimName?: string }[]).map((claim) => claim.resourceClaimName),
        pod.status?.extendedResourceClaimStatus?.resourceClaimName,
      ];
    default:
      return [];
  }
}
