// Authorization. Administrators and the control plane may do everything; nodes what the node authorizer and their role allow;
// bootstrap tokens request certificates; every authenticated user may review their own identity and access.
//
// | a node may                                      | of                                                        |
// |-------------------------------------------------|-----------------------------------------------------------|
// | get, create, update, patch nodes                | itself; lists and watches with its own name selected      |
// | get, list, watch pods                           | bound to it; lists and watches with its own name selected |
// | create, delete pods, patch their status, evict  | see node-restriction                                      |
// | get, list, watch one secret, configmap by name  | that one of its pods refers to; claims, volumes likewise  |
// | create tokens of service accounts               | for its own pods                                          |
// | its lease, CSINode, resource slices             | by its own name                                           |
// | create, get, list, watch certificate requests of pods | with its own name selected; see node-restriction     |
// | list, watch services, CSIDrivers, RuntimeClasses, create events, certificate requests and reviews | any           |
//
// Invariant: everything else is refused.
import type { ApiUser } from '../api-request.js';
import { type ObjectStore, objectKey } from '../object-store.js';
import { resourceKey } from '../resource-types.js';
import { type AccessDecision, type AccessRequest, no, nodeOf, yes } from './access-request.js';
import type { PodRelations } from './pod-relations.js';

const almighty = ['system:masters'];
const controlPlane = ['system:kube-scheduler', 'system:kube-controller-manager', 'system:apiserver'];
const selfReviews = ['selfsubjectaccessreviews.authorization.k8s.io', 'selfsubjectreviews.authentication.k8s.io'];
const certificates = 'certificatesigningrequests.certificates.k8s.io';
const publicPaths = ['/healthz', '/livez', '/readyz', '/version'];
const discoveryPaths = ['/api', '/apis', '/openapi'];
const reads = ['get', 'list', 'watch'];
const writes = ['create', 'update', 'patch', 'delete'];

/** Permissions of every node independent of its pods: collection (with its subresource) -> verbs. */
const freeForNodes: Readonly<Record<string, readonly string[]>> = {
  services: reads,
  'csidrivers.storage.k8s.io': reads,
  'runtimeclasses.node.k8s.io': reads,
  'clustertrustbundles.certificates.k8s.io': reads,
  events: ['create', 'patch', 'update'],
  [certificates]: ['create', 'get', 'list', 'watch'],
  'tokenreviews.authentication.k8s.io': ['create'],
  'subjectaccessreviews.authorization.k8s.io': ['create'],
  pods: ['create', 'delete'],
  'pods/status': ['patch', 'update', 'get'],
  'pods/eviction': ['create'],
};

export class Authorizer {
  constructor(
    private readonly relations: PodRelations,
    private readonly store: ObjectStore,
    /** Every user may do everything. */
    private readonly isOff: boolean,
  ) {}

  /** Non-resource paths: health is public, discovery is for authenticated users. */
  decidePath(user: ApiUser, path: string): AccessDecision {
    if (this.isAlmighty(user) || publicPaths.some((open) => path === open || path.startsWith(`${open}/`))) return yes;
    return user.groups.includes('system:authenticated') && discoveryPaths.some((open) => path === open || path.startsWith(`${open}/`)) ? yes : no;
  }

  private isAlmighty({ name, groups }: ApiUser): boolean {
    return this.isOff || groups.some((group) => almighty.includes(group)) || controlPlane.includes(name);
  }

  decide(request: AccessRequest): AccessDecision {
    const { user, verb } = request;
    const key = resourceKey(request.resource);
    if (this.isAlmighty(user)) return yes;
    if (user.groups.includes('system:authenticated') && selfReviews.includes(key) && verb === 'create') return yes;
    const node = nodeOf(user);
    if (node !== null) return this.decideForNode(request, node, key);
    const asksForCertificate = user.groups.includes('system:bootstrappers') && key === certificates && freeForNodes[certificates]?.includes(verb) === true;
    return asksForCertificate ? yes : no;
  }

  private decideForNode(request: AccessRequest, node: string, key: string): AccessDecision {
    const { verb, subresource, name, fields } = request;
    const full = subresource === null ? key : `${key}/${subresource}`;
    if (freeForNodes[full]?.includes(verb) === true) return yes;
    const isOwn = name === node || fields['metadata.name'] === node;
    switch (full) {
      case 'nodes':
      case 'nodes/status':
        if (verb === 'delete' || verb === 'deletecollection') return no;
        if (writes.includes(verb)) return yes;
        return isOwn ? yes : { allowed: false, reason: `node '${node}' cannot read ${name === null ? 'all nodes' : `'${name}'`}, only its own Node object` };
      case 'pods':
        return this.decidePods(request, node);
      case 'secrets':
      case 'configmaps':
      case 'resourceclaims.resource.k8s.io':
      case 'serviceaccounts':
        return this.decideReference(request, node, key);
      case 'persistentvolumeclaims':
      case 'persistentvolumeclaims/status':
        return this.decideReference(request, node, key, full.endsWith('/status') ? ['get', 'update', 'patch'] : ['get']);
      case 'persistentvolumes':
        return verb === 'get' && this.relations.usesVolume(node, name ?? '') ? yes : unrelated(node);
      case 'volumeattachments.storage.k8s.io':
        return verb === 'get' ? yes : no;
      case 'serviceaccounts/token':
        return verb === 'create' ? this.decideReference(request, node, key, ['create']) : no;
      default:
        return decideOwn(request, node, full);
    }
  }

  private decidePods({ verb, namespace, name, fields }: AccessRequest, node: string): AccessDecision {
    if (!reads.includes(verb)) return no;
    if (fields['spec.nodeName'] === node) return yes;
    if (verb !== 'get') return { allowed: false, reason: `can only list/watch pods with spec.nodeName field selector` };
    return this.mayGetPod(namespace, name, node);
  }

  /** Absence is no secret: a kubelet reads deleted pods, and mirror pods before their creation. */
  private mayGetPod(namespace: string | null, name: string | null, node: string): AccessDecision {
    const spec = this.store.get('pods', objectKey(namespace, name ?? ''))?.spec as { readonly nodeName?: string } | undefined;
    return spec === undefined || spec.nodeName === node ? yes : unrelated(node);
  }

  private decideReference({ verb, namespace, name, fields }: AccessRequest, node: string, key: string, verbs: readonly string[] = reads): AccessDecision {
    if (!verbs.includes(verb)) return no;
    const meant = name ?? fields['metadata.name'];
    if (meant === undefined || namespace === null) return { allowed: false, reason: `No Object name found` };
    return this.relations.refers(node, key, namespace, meant) ? yes : unrelated(node);
  }
}

function unrelated(node: string): AccessDecision {
  return { allowed: false, reason: `no relationship found between node '${node}' and this object` };
}

function decideOwn({ verb, namespace, name, fields }: AccessRequest, node: string, full: string): AccessDecision {
  switch (full) {
    case 'leases.coordination.k8s.io':
      if (namespace !== 'kube-node-lease') return { allowed: false, reason: `can only access leases in the "kube-node-lease" system namespace` };
      if (verb === 'create' || (name === node && ['get', ...writes].includes(verb))) return yes;
      return { allowed: false, reason: 'can only access node lease with the same name as the requesting node' };
    case 'csinodes.storage.k8s.io':
      if (verb === 'create' || (name === node && ['get', ...writes].includes(verb))) return yes;
      return { allowed: false, reason: 'can only access CSINode with the same name as the requesting node' };
    case 'podcertificaterequests.certificates.k8s.io':
      if (verb === 'create' || verb === 'get' || fields['spec.nodeName'] === node) return yes;
      return { allowed: false, reason: 'can only list/watch podcertificaterequests with spec.nodeName field selector' };
    case 'resourceslices.resource.k8s.io':
      if (verb === 'create' || verb === 'get' || writes.includes(verb)) return yes;
      if (fields['spec.nodeName'] === node) return yes;
      return { allowed: false, reason: 'can only list/watch/deletecollection resourceslices with spec.nodeName field selector' };
    default:
      return no;
  }
}
