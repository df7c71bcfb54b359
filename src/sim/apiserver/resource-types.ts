// The collections of the apiserver: names, selectable fields, and subresources.
// Invariant: plural and group name one collection; a struct of the schema describes its objects.
import type { ApiResource } from '../../ports/model/api-object.js';

export type Subresource =
  | 'status'
  | 'binding'
  | 'eviction'
  | 'resize'
  | 'ephemeralcontainers'
  | 'token'
  | 'approval'
  | 'finalize'
  | 'log'
  | 'exec'
  | 'attach'
  | 'portforward'
  | 'proxy';

export interface ResourceType extends ApiResource {
  readonly kind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Paths beside metadata.name and metadata.namespace. */
  readonly fields: readonly string[];
  /** The spec's changes are counted in metadata.generation. */
  readonly hasGeneration: boolean;
  /** A request for a decision: nothing is stored. */
  readonly isReview: boolean;
  /** An update without a resourceVersion is accepted. */
  readonly updatesUnconditionally: boolean;
  /** An update of what isn't there creates it. */
  readonly updateCreates: boolean;
  /** Any name that is valid in a path; otherwise a DNS subdomain. */
  readonly hasFreeNames: boolean;
}

interface Row {
  readonly short?: string;
  readonly sub?: readonly Subresource[];
  readonly fields?: readonly string[];
  readonly generation?: boolean;
  readonly review?: boolean;
  readonly conditional?: boolean;
  readonly upsert?: boolean;
  readonly freeNames?: boolean;
  readonly categories?: readonly string[];
  readonly version?: string;
}

function resourceType(group: string, kind: string, plural: string, namespaced: boolean, row: Row = {}): ResourceType {
  return {
    group,
    version: row.version ?? 'v1',
    kind,
    plural,
    singular: kind.toLowerCase(),
    namespaced,
    shortNames: row.short === undefined ? [] : row.short.split(','),
    categories: row.categories ?? [],
    subresources: row.sub ?? [],
    fields: row.fields ?? [],
    hasGeneration: row.generation === true,
    isReview: row.review === true,
    updatesUnconditionally: row.conditional !== true,
    updateCreates: row.upsert === true,
    hasFreeNames: row.freeNames === true,
  };
}

const podFields = [
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'spec.hostNetwork',
  'status.phase',
  'status.podIP',
  'status.nominatedNodeName',
];
const involved = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((field) => `involvedObject.${field}`);
const eventFields = [...involved, 'reason', 'reportingComponent', 'source', 'type'];
const podSubresources: readonly Subresource[] = ['status', 'binding', 'eviction', 'resize', 'ephemeralcontainers', 'log', 'exec', 'attach', 'portforward', 'proxy'];

export const resourceTypes: readonly ResourceType[] = [
  resourceType('', 'Namespace', 'namespaces', false, { short: 'ns', sub: ['status', 'finalize'], fields: ['status.phase'] }),
  resourceType('', 'Node', 'nodes', false, { short: 'no', sub: ['status', 'proxy'], fields: ['spec.unschedulable'] }),
  resourceType('', 'Pod', 'pods', true, { short: 'po', sub: podSubresources, fields: podFields, generation: true, categories: ['all'] }),
  resourceType('', 'ConfigMap', 'configmaps', true, { short: 'cm' }),
  resourceType('', 'Secret', 'secrets', true, { fields: ['type'] }),
  resourceType('', 'Service', 'services', true, { short: 'svc', sub: ['status'], fields: ['spec.clusterIP', 'spec.type'], categories: ['all'] }),
  resourceType('', 'ServiceAccount', 'serviceaccounts', true, { short: 'sa', sub: ['token'] }),
  resourceType('', 'Event', 'events', true, { short: 'ev', fields: eventFields, upsert: true }),
  resourceType('', 'PersistentVolume', 'persistentvolumes', false, { short: 'pv', sub: ['status'] }),
  resourceType('', 'PersistentVolumeClaim', 'persistentvolumeclaims', true, { short: 'pvc', sub: ['status'] }),
  resourceType('', 'Binding', 'bindings', true, { review: true }),
  resourceType('coordination.k8s.io', 'Lease', 'leases', true, { conditional: true, upsert: true }),
  resourceType('node.k8s.io', 'RuntimeClass', 'runtimeclasses', false),
  resourceType('scheduling.k8s.io', 'PriorityClass', 'priorityclasses', false, { short: 'pc', generation: true }),
  resourceType('storage.k8s.io', 'StorageClass', 'storageclasses', false, { short: 'sc' }),
  resourceType('storage.k8s.io', 'VolumeAttachment', 'volumeattachments', false, { sub: ['status'] }),
  resourceType('storage.k8s.io', 'CSIDriver', 'csidrivers', false, { generation: true }),
  resourceType('storage.k8s.io', 'CSINode', 'csinodes', false),
  resourceType('certificates.k8s.io', 'CertificateSigningRequest', 'certificatesigningrequests', false, {
    short: 'csr',
    sub: ['status', 'approval'],
    fields: ['spec.signerName'],
    // The kubelet's own have a digest in base64 in theirs.
    freeNames: true,
  }),
  resourceType('certificates.k8s.io', 'ClusterTrustBundle', 'clustertrustbundles', false, { fields: ['spec.signerName'], version: 'v1beta1', freeNames: true }),
  resourceType('certificates.k8s.io', 'PodCertificateRequest', 'podcertificaterequests', true, {
    sub: ['status'],
    fields: ['spec.signerName', 'spec.podName', 'spec.nodeName'],
    version: 'v1beta1',
  }),
  resourceType('resource.k8s.io', 'ResourceClaim', 'resourceclaims', true, { sub: ['status'] }),
  resourceType('resource.k8s.io', 'ResourceClaimTemplate', 'resourceclaimtemplates', true),
  resourceType('resource.k8s.io', 'ResourceSlice', 'resourceslices', false, { fields: ['spec.nodeName', 'spec.driver'], generation: true }),
  resourceType('resource.k8s.io', 'DeviceClass', 'deviceclasses', false, { generation: true }),
  resourceType('authentication.k8s.io', 'TokenReview', 'tokenreviews', false, { review: true }),
  resourceType('authentication.k8s.io', 'SelfSubjectReview', 'selfsubjectreviews', false, { review: true }),
  resourceType('authorization.k8s.io', 'SubjectAccessReview', 'subjectaccessreviews', false, { review: true }),
  resourceType('authorization.k8s.io', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews', false, { review: true }),
];

const byName = new Map(resourceTypes.map((type) => [resourceKey(type), type]));

/** One text for a collection: `pods`, `leases.coordination.k8s.io`. */
export function resourceKey({ group, plural }: Pick<ApiResource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** null: the server has no such collection, or not in that version. */
export function findResourceType(resource: ApiResource): ResourceType | null {
  const type = byName.get(resourceKey(resource));
  return type === undefined || type.version !== resource.version ? null : type;
}

export function resourceTypeOf(key: string): ResourceType {
  const type = byName.get(key);
  if (type === undefined) throw new Error(`no resource ${key}`);
  return type;
}

export function apiVersionOf({ group, version }: Pick<ApiResource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}
