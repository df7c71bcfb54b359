// The NodeRestriction admission of the real server: fields and objects that a node may not write although its role permits the kind.
import { isKubernetesLabel, isOwnLabel } from '../../../domain/configuration/node-labels.js';
import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { apiReferenceProblem } from '../../../domain/pod-sources/api-references.js';
import { base64Decode } from '../../../domain/values/base64.js';
import { configMirrorAnnotation, isMirrorPod } from '../../../domain/values/pod-kind.js';
import { utf8Decode } from '../../../domain/values/utf8.js';
import type { Pod } from '../../../ports/model/pod.js';
import { forbidden } from '../api-status.js';
import type { CertificateSigner } from '../certificate-signer.js';
import { isCertificateRequest } from '../kinds/certificate-requests.js';
import type { ObjectDraft } from '../kinds/kind-rules.js';
import { type ObjectStore, objectKey, type StoredObject } from '../object-store.js';
import { type ResourceType, resourceKey } from '../resource-types.js';

const nodeSigners: readonly string[] = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet'];
const ownNodeNamePrefix = 'node-restriction.kubernetes.io/';

export interface NodeWrite {
  readonly node: string;
  readonly type: ResourceType;
  readonly verb: 'create' | 'update' | 'delete';
  readonly subresource: string | null;
  readonly name: string;
  /** null: nothing was there. */
  readonly old: StoredObject | null;
  /** null: it is a deletion. */
  readonly object: ObjectDraft | null;
  readonly store: ObjectStore;
  /** Reads a certificate request; null: it can't be read. Absent: no signer. */
  readonly inspect?: CertificateSigner['inspect'];
}

/** Throws 403. */
export function checkNodeWrite(write: NodeWrite): void {
  const problem = problemOf(write);
  if (problem !== null) throw forbidden(write.type, write.name, problem);
}

function problemOf(write: NodeWrite): string | null {
  const { node, type, subresource, name, old } = write;
  switch (subresource === null ? resourceKey(type) : `${resourceKey(type)}/${subresource}`) {
    case 'nodes':
    case 'nodes/status':
      return nodeProblem(write);
    case 'pods':
      return write.verb === 'create' ? podCreationProblem(write) : podDeletionProblem(write);
    case 'pods/status':
      return podStatusProblem(write);
    case 'pods/eviction':
      return nodeNameOf(old) === node ? null : `node ${node} can only evict pods with spec.nodeName set to itself`;
    case 'leases.coordination.k8s.io':
      return name === node ? null : 'can only access node lease with the same name as the requesting node';
    case 'csinodes.storage.k8s.io':
      return name === node ? null : 'can only access CSINode with the same name as the requesting node';
    case 'podcertificaterequests.certificates.k8s.io':
      return write.verb === 'create' ? podCertificateProblem(write) : `node "${node}" is not allowed to modify podcertificaterequests`;
    case 'certificatesigningrequests.certificates.k8s.io':
      return write.verb === 'create' ? certificateProblem(write) : null;
    case 'resourceslices.resource.k8s.io':
      return nodeNameOf(write.object ?? old) === node ? null : 'can only create, update or delete ResourceSlices with the same NodeName as the requesting node';
    default:
      return null;
  }
}

function nodeNameOf(object: StoredObject | ObjectDraft | null): string {
  return ((object?.spec ?? {}) as { readonly nodeName?: string }).nodeName ?? '';
}

function nodeProblem({ node, verb, name, object, old }: NodeWrite): string | null {
  if (name !== node) return `node "${node}" is not allowed to modify node "${name}"`;
  if (object === null) return null;
  const labels = object.metadata.labels ?? {};
  const before = old?.metadata.labels ?? {};
  const changed = [...new Set([...Object.keys(labels), ...Object.keys(before)])].filter((label) => labels[label] !== before[label]).sort();
  const refused = changed.filter((label) => label.startsWith(ownNodeNamePrefix) || (isKubernetesLabel(label) && !isOwnLabel(label)));
  if (refused.length > 0) return verb === 'create' ? `is not allowed to set the following labels: ${refused.join(', ')}` : `is not allowed to modify labels: ${refused.join(', ')}`;
  if (object.metadata.ownerReferences !== undefined && canonicalJson(object.metadata.ownerReferences) !== canonicalJson(old?.metadata.ownerReferences ?? null)) {
    return `node "${node}" is not allowed to modify ownerReferences`;
  }
  const taints = (from: StoredObject | ObjectDraft | null) => canonicalJson(((from?.spec ?? {}) as { readonly taints?: unknown }).taints ?? []);
  return verb === 'update' && taints(object) !== taints(old) ? `node "${node}" is not allowed to modify taints` : null;
}

function podCreationProblem({ node, object, store }: NodeWrite): string | null {
  const pod = object as unknown as Pod;
  if (!isMirrorPod(pod)) return `pod does not have "${configMirrorAnnotation}" annotation, node "${node}" can only create mirror pods`;
  if (pod.spec.nodeName !== node) return `node "${node}" can only create pods with spec.nodeName set to itself`;
  const owners = pod.metadata.ownerReferences ?? [];
  if (owners.length > 1) return `node "${node}" can only create pods with a single owner reference set to itself`;
  if (owners.length === 0) return `node "${node}" can only create pods with an owner reference set to itself`;
  const [owner] = owners;
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) return `node "${node}" can only create pods with an owner reference set to itself`;
  if (owner.controller !== true) return `node "${node}" can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `node "${node}" must not set blockOwnerDeletion on an owner reference`;
  const uid = store.get('nodes', objectKey(null, node))?.metadata.uid;
  if (uid === undefined) return `node "${node}" not found`;
  if (owner.uid !== uid) return `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
  const reference = apiReferenceProblem(pod.spec, true);
  return reference === null ? null : `node "${node}" can not create pods that reference ${reference.replace(/^static pods may not (reference|use) /, '')}`;
}

/** A certificate of the node is for its own name. */
function certificateProblem({ node, object, inspect }: NodeWrite): string | null {
  const { signerName = '', request = '' } = (object?.spec ?? {}) as { readonly signerName?: string; readonly request?: string };
  if (!nodeSigners.includes(signerName)) return null;
  const bytes = base64Decode(request) ?? new Uint8Array();
  if (!isCertificateRequest(utf8Decode(bytes))) return 'unable to parse csr: PEM block type must be CERTIFICATE REQUEST';
  if (inspect === undefined) return null;
  const found = inspect(bytes);
  if (found === null) return 'unable to parse csr: asn1: structure error';
  return found.commonName === `system:node:${node}` ? null : `can only create a node CSR with CN=system:node:${node}`;
}

/** Only for one of its own pods, with that pod's names and uids. */
function podCertificateProblem({ node, object, store }: NodeWrite): string | null {
  const spec = (object?.spec ?? {}) as { readonly nodeName?: string; readonly podName?: string; readonly podUID?: string; readonly serviceAccountName?: string };
  if (spec.nodeName !== node) return `node "${node}" can only create podcertificaterequests with spec.nodeName set to itself`;
  const pod = (store.get('pods', objectKey(object?.metadata.namespace, spec.podName ?? '')) ?? null) as unknown as Pod | null;
  if (pod === null || pod.spec.nodeName !== node) return `node "${node}" can only create podcertificaterequests for pods that are bound to it`;
  if (pod.metadata.uid !== spec.podUID) return `PodCertificateRequest.Spec.PodUID (${spec.podUID ?? ''}) does not match the pod's UID (${pod.metadata.uid ?? ''})`;
  if (isMirrorPod(pod)) return `node "${node}" can not create podcertificaterequests for mirror pods`;
  return pod.spec.serviceAccountName === spec.serviceAccountName ? null : `PodCertificateRequest.Spec.ServiceAccountName does not match the pod's service account`;
}

function podDeletionProblem({ node, verb, old }: NodeWrite): string | null {
  if (verb !== 'delete') return `node "${node}" is not allowed to modify pods`;
  return nodeNameOf(old) === node ? null : `node "${node}" can only delete pods with spec.nodeName set to itself`;
}

function podStatusProblem({ node, object, old }: NodeWrite): string | null {
  if (nodeNameOf(old) !== node) return `node "${node}" can only update pod status for pods with spec.nodeName set to itself`;
  if (canonicalJson(object?.metadata.labels ?? {}) !== canonicalJson(old?.metadata.labels ?? {})) return `node "${node}" cannot update labels through pod status`;
  const claims = (from: StoredObject | ObjectDraft | null) => canonicalJson(((from?.status ?? {}) as { readonly resourceClaimStatuses?: unknown }).resourceClaimStatuses ?? []);
  return claims(object) === claims(old) ? null : `node "${node}" cannot update resource claim statuses`;
}
