// API data for the parts that work for a pod.
import type { Micros } from '../../ports/micros.js';
import type { PodCertificateOrder } from '../pod-certificates/pod-certificate-request.js';
import type { PodCertificateAnswer } from '../pod-certificates/pod-certificates.js';
import type { TokenRequest } from '../volumes/api-data-volume.js';
import type { ClusterTrustBundle } from '../volumes/trust-bundles.js';
import type { ObjectAnswer, ObjectKind } from './object-manager.js';
import type { ServiceAccountAnswer } from './service-accounts.js';
import type { TokenAnswer } from './token-cache.js';

export type TrustBundlesAnswer =
  | { readonly kind: 'found'; readonly bundles: readonly ClusterTrustBundle[] }
  | { readonly kind: 'pending'; readonly until: Micros }
  | { readonly kind: 'failed'; readonly message: string };

/** Data of the API as far as the agent has it. */
export interface ApiData {
  /** @param since the reader's start */
  object(kind: ObjectKind, namespace: string, name: string, since: Micros): ObjectAnswer;
  token(request: TokenRequest, since: Micros): TokenAnswer;
  /** A token for credential provider plugins, which no volume has. @param since as above */
  pluginToken(request: TokenRequest, since: Micros): TokenAnswer;
  /** @param since as above */
  serviceAccount(namespace: string, name: string, since: Micros): ServiceAccountAnswer;
  /** All of the cluster. @param since as above */
  trustBundles(since: Micros): TrustBundlesAnswer;
  /** Requested on first use, and replaced in time. */
  podCertificate(order: PodCertificateOrder): PodCertificateAnswer;
  /** Whether the pod's objects have changed since the last call. */
  takeChanged(uid: string): boolean;
}
