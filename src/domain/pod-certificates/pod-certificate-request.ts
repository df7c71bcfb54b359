// PodCertificateRequests: creating one, and reading its status.

import type { Instant } from '../../ports/instant.js';
import type { ApiObject, ApiResource } from '../../ports/model/api-object.js';
import { base64Encode } from '../values/base64.js';
import { parseRfc3339 } from '../values/time.js';

export const podCertificateRequests: ApiResource = { group: 'certificates.k8s.io', version: 'v1beta1', plural: 'podcertificaterequests' };

/** One source of a projected volume. */
export interface PodCertificateSource {
  readonly signerName: string;
  readonly keyType: string;
  readonly maxExpirationSeconds?: number;
  readonly credentialBundlePath?: string;
  readonly keyPath?: string;
  readonly certificateChainPath?: string;
  readonly userAnnotations?: Readonly<Record<string, string>>;
}

/** The subject and the parameters of a certificate. */
export interface PodCertificateOrder {
  readonly namespace: string;
  readonly podName: string;
  readonly podUid: string;
  readonly serviceAccountName: string;
  readonly volumeName: string;
  /** Among the volume's sources. */
  readonly sourceIndex: number;
  readonly source: PodCertificateSource;
}

export interface Requester {
  readonly serviceAccountUid: string;
  readonly nodeName: string;
  readonly nodeUid: string;
}

/** @param request PKCS #10, DER */
export function podCertificateRequest(order: PodCertificateOrder, requester: Requester, request: Uint8Array): ApiObject {
  const { namespace, podName, podUid, serviceAccountName, source } = order;
  const { serviceAccountUid, nodeName, nodeUid } = requester;
  const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid: podUid };
  const annotations = Object.keys(source.userAnnotations ?? {}).length === 0 ? {} : { unverifiedUserAnnotations: source.userAnnotations };
  const spec = {
    signerName: source.signerName,
    podName,
    podUID: podUid,
    serviceAccountName,
    serviceAccountUID: serviceAccountUid,
    nodeName,
    nodeUID: nodeUid,
    ...(source.maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds: source.maxExpirationSeconds }),
    stubPKCS10Request: base64Encode(request),
    ...annotations,
  };
  return {
    apiVersion: 'certificates.k8s.io/v1beta1',
    kind: 'PodCertificateRequest',
    metadata: { generateName: 'req-', namespace, ownerReferences: [owner] },
    spec,
  } as unknown as ApiObject;
}

export type PodCertificateVerdict =
  | { readonly kind: 'pending' }
  | { readonly kind: 'issued'; readonly chain: string; readonly beginRefreshAt: Instant; readonly notAfter: Instant }
  | { readonly kind: 'denied' | 'failed'; readonly reason: string; readonly message: string };

interface RequestStatus {
  readonly conditions?: readonly { readonly type: string; readonly status?: string; readonly reason?: string; readonly message?: string }[];
  readonly certificateChain?: string;
  readonly beginRefreshAt?: string;
  readonly notAfter?: string;
}

export function podCertificateVerdict(object: ApiObject): PodCertificateVerdict {
  const status = (object as unknown as { readonly status?: RequestStatus }).status ?? {};
  for (const { type, reason = '', message = '' } of status.conditions ?? []) {
    if (type === 'Denied') return { kind: 'denied', reason, message };
    if (type === 'Failed') return { kind: 'failed', reason, message };
    if (type !== 'Issued') continue;
    const beginRefreshAt = parseRfc3339(status.beginRefreshAt ?? '');
    const notAfter = parseRfc3339(status.notAfter ?? '');
    const chain = status.certificateChain ?? '';
    // The API's own checks keep such an answer out; it would never be refreshed.
    if (chain === '' || beginRefreshAt === null || notAfter === null)
      return { kind: 'failed', reason: 'Incomplete', message: 'the request is issued without its certificate or its times' };
    return { kind: 'issued', chain, beginRefreshAt, notAfter };
  }
  return { kind: 'pending' };
}
