// The signer of pods' certificates that a cluster has by itself: `kubernetes.io/kube-apiserver-client-pod`. A request that names a pod, a service
// account or a node which isn't there, or a key that hasn't signed it, is denied; those of other signers are for others to answer.

import { base64Decode, base64Encode } from '../../../domain/values/base64.js';
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339, microsPerSecond } from '../../../domain/values/time.js';
import { utf8Decode, utf8Encode } from '../../../domain/values/utf8.js';
import { verdictOf } from '../kinds/pod-certificate-requests.js';
import { objectKey, type StoredObject } from '../object-store.js';
import type { ControlContext } from './control-context.js';

const podClientSigner = 'kubernetes.io/kube-apiserver-client-pod';
const collection = 'podcertificaterequests.certificates.k8s.io';
/** The part of its lifetime before the refresh, as in the reference signer: the last quarter is for the refresh. */
const refreshPart = 0.75;

interface Spec {
  readonly signerName: string;
  readonly podName: string;
  readonly podUID: string;
  readonly serviceAccountName: string;
  readonly serviceAccountUID: string;
  readonly nodeName: string;
  readonly nodeUID: string;
  readonly maxExpirationSeconds: number;
  readonly stubPKCS10Request: string;
}

export function settlePodCertificates(context: ControlContext): void {
  const { store, signer, now } = context;
  if (signer === null) return;
  for (const object of [...store.all(collection)]) {
    if ((object.spec as Spec).signerName !== podClientSigner || verdictOf(object) !== null) continue;
    const status = answerTo(object, context);
    const time = formatRfc3339(instantOf(now));
    const conditions = [{ type: status.type, status: 'True', reason: status.reason, message: status.message, lastTransitionTime: time }];
    store.put(collection, objectKey(object.metadata.namespace, object.metadata.name), { ...object, status: { conditions, ...status.issued } });
  }
}

interface SignerAnswer {
  readonly type: 'Issued' | 'Denied';
  readonly reason: string;
  readonly message: string;
  readonly issued: object;
}

function answerTo(object: StoredObject, { store, signer, now, settings }: ControlContext): SignerAnswer {
  const spec = object.spec as Spec;
  const { namespace } = object.metadata;
  const denied = (message: string): SignerAnswer => ({ type: 'Denied', reason: 'InvalidRequest', message, issued: {} });
  const named: readonly (readonly [what: string, resource: string, key: string, uid: string])[] = [
    ['pod', 'pods', objectKey(namespace, spec.podName), spec.podUID],
    ['service account', 'serviceaccounts', objectKey(namespace, spec.serviceAccountName), spec.serviceAccountUID],
    ['node', 'nodes', objectKey(null, spec.nodeName), spec.nodeUID],
  ];
  for (const [what, resource, key, uid] of named) if (store.get(resource, key)?.metadata.uid !== uid) return denied(`there is no such ${what}`);
  const request = pemRequest(base64Decode(spec.stubPKCS10Request) ?? new Uint8Array());
  if (signer?.inspect(request) == null) return denied('the stub request is not signed by its own key');
  const expirationSeconds = Math.min(spec.maxExpirationSeconds, settings.maxCertificateSeconds);
  const commonName = `system:serviceaccount:${namespace ?? ''}:${spec.serviceAccountName}`;
  const chain = signer.sign({ request, usages: ['client auth'], expirationSeconds, commonName }, now);
  const at = (part: number): string => formatRfc3339(instantOf(now + Math.floor(expirationSeconds * part) * microsPerSecond));
  return {
    type: 'Issued',
    reason: 'Issued',
    message: 'signed by the cluster',
    issued: { certificateChain: utf8Decode(chain), notBefore: at(0), beginRefreshAt: at(refreshPart), notAfter: at(1) },
  };
}

function pemRequest(der: Uint8Array): Uint8Array {
  return utf8Encode(`-----BEGIN CERTIFICATE REQUEST-----\n${base64Encode(der)}\n-----END CERTIFICATE REQUEST-----\n`);
}
