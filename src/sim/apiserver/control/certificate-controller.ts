// Certificate requests of kubelets: approves those that the requester may make, and has the signer sign them.
//
// | signer                                       | approved for                                            |
// |----------------------------------------------|---------------------------------------------------------|
// | kubernetes.io/kube-apiserver-client-kubelet  | bootstrappers, and the node itself                      |
// | kubernetes.io/kubelet-serving                | the node itself                                         |
// | any other                                    | manual approval only                                    |

import { base64Decode, base64Encode } from '../../../domain/values/base64.js';
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339 } from '../../../domain/values/time.js';
import { objectKey, type StoredObject } from '../object-store.js';
import type { ControlContext } from './control-context.js';

const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
const servingSigner = 'kubernetes.io/kubelet-serving';
const signers: readonly string[] = [clientSigner, servingSigner, 'kubernetes.io/kube-apiserver-client'];
const collection = 'certificatesigningrequests.certificates.k8s.io';
const yearSeconds = 31_536_000;

interface RequestSpec {
  readonly request: string;
  readonly signerName: string;
  readonly usages?: readonly string[];
  readonly expirationSeconds?: number;
  readonly username?: string;
  readonly groups?: readonly string[];
}
interface RequestStatus {
  readonly conditions?: readonly { readonly type: string }[];
  readonly certificate?: string;
}

export function settleCertificates(context: ControlContext): void {
  for (const object of [...context.store.all(collection)]) {
    const status = (object.status ?? {}) as RequestStatus;
    const has = (type: string): boolean => (status.conditions ?? []).some((condition) => condition.type === type);
    if (status.certificate !== undefined || has('Denied') || has('Failed')) continue;
    if (!has('Approved') && !mayHave(object, context)) continue;
    settle(object, status, has('Approved'), context);
  }
}

function settle(object: StoredObject, status: RequestStatus, isApproved: boolean, { store, signer, now, settings }: ControlContext): void {
  const spec = object.spec as RequestSpec;
  const time = formatRfc3339(instantOf(now));
  const message = `Auto approving kubelet ${spec.signerName === servingSigner ? 'serving' : 'client'} certificate after SubjectAccessReview.`;
  const approval = { type: 'Approved', status: 'True', reason: 'AutoApproved', message, lastUpdateTime: time, lastTransitionTime: time };
  const conditions = isApproved ? status.conditions : [...(status.conditions ?? []), approval];
  const request = base64Decode(spec.request) ?? new Uint8Array();
  const expirationSeconds = Math.min(spec.expirationSeconds ?? yearSeconds, settings.maxCertificateSeconds);
  const signed = signer !== null && signers.includes(spec.signerName) ? signer.sign({ request, usages: spec.usages ?? [], expirationSeconds }, now) : null;
  if (signed === null && isApproved) return;
  const certificate = signed === null ? {} : { certificate: base64Encode(signed) };
  store.put(collection, objectKey(null, object.metadata.name), { ...object, status: { ...status, conditions, ...certificate } });
}

/** Whether the requester may have the certificate without a person's word. */
function mayHave(object: StoredObject, { signer }: ControlContext): boolean {
  const { request, signerName, username = '', groups = [] } = object.spec as RequestSpec;
  const wanted = signer?.inspect(base64Decode(request) ?? new Uint8Array()) ?? null;
  if (wanted === null) return false;
  const { commonName, organizations, dnsNames, ipAddresses } = wanted;
  const isNodes = commonName.startsWith('system:node:') && organizations.length === 1 && organizations[0] === 'system:nodes';
  if (!isNodes) return false;
  const isOwn = username === commonName;
  if (signerName === servingSigner) return isOwn && dnsNames.length + ipAddresses.length > 0;
  if (signerName !== clientSigner || dnsNames.length + ipAddresses.length > 0) return false;
  return isOwn || groups.includes('system:bootstrappers');
}
