// CertificateSigningRequests: creating one, and interpreting its state.
import type { ApiObject, ApiResource } from '../../ports/model/api-object.js';
import type { CertificatePurpose } from '../../ports/outbound/certificates.js';
import { base64Decode, base64Encode } from '../values/base64.js';
import { utf8Decode, utf8Encode } from '../values/utf8.js';
import { signers, usages } from './certificate-rules.js';

/** v1 since Kubernetes 1.19; older servers have v1beta1 only. */
export type CsrVersion = 'v1' | 'v1beta1';

export function csrResource(version: CsrVersion): ApiResource {
  return { group: 'certificates.k8s.io', version, plural: 'certificatesigningrequests' };
}

/** @param name null: the server makes one up */
export function csrObject(version: CsrVersion, purpose: CertificatePurpose, csrPem: string, name: string | null): ApiObject {
  const spec = { request: base64Encode(utf8Encode(csrPem)), signerName: signers[purpose], usages: usages[purpose] };
  const metadata = name === null ? { generateName: 'csr-' } : { name };
  return { apiVersion: `certificates.k8s.io/${version}`, kind: 'CertificateSigningRequest', metadata, spec } as unknown as ApiObject;
}

export type CsrVerdict =
  | { readonly kind: 'pending' }
  /** PEM. */
  | { readonly kind: 'issued'; readonly certificate: string }
  | { readonly kind: 'refused'; readonly reason: string };

interface CsrStatus {
  readonly certificate?: string;
  readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
}

/** @param csr null: removed. @param uid of the created one */
export function csrVerdict(csr: ApiObject | null, uid: string): CsrVerdict {
  if (csr === null) return { kind: 'refused', reason: 'certificate signing request was deleted' };
  if (csr.metadata.uid !== uid) return { kind: 'refused', reason: `csr ${JSON.stringify(csr.metadata.name)} changed UIDs` };
  const { conditions = [], certificate } = (csr as unknown as { readonly status?: CsrStatus }).status ?? {};
  let approved = false;
  for (const { type, reason, message } of conditions) {
    if (type === 'Denied') return { kind: 'refused', reason: `certificate signing request is denied, reason: ${reason ?? ''}, message: ${message ?? ''}` };
    if (type === 'Failed') return { kind: 'refused', reason: `certificate signing request failed, reason: ${reason ?? ''}, message: ${message ?? ''}` };
    if (type === 'Approved') approved = true;
  }
  if (!approved || certificate === undefined || certificate === '') return { kind: 'pending' };
  const bytes = base64Decode(certificate);
  return bytes === null ? { kind: 'refused', reason: 'the issued certificate is no base64' } : { kind: 'issued', certificate: utf8Decode(bytes) };
}
