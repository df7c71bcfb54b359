// The rules of every kind that has its own, by collection.
import { certificateRequestRules, trustBundleRules } from './certificate-requests.js';
import type { KindRules } from './kind-rules.js';
import { namespaceRules } from './namespaces.js';
import { nodeRules } from './nodes.js';
import { podCertificateRequestRules } from './pod-certificate-requests.js';
import { podRules } from './pods.js';
import { smallKinds } from './small-kinds.js';

const noRules: KindRules = {};

const rules: ReadonlyMap<string, KindRules> = new Map<string, KindRules>([
  ...smallKinds,
  ['certificatesigningrequests.certificates.k8s.io', certificateRequestRules],
  ['clustertrustbundles.certificates.k8s.io', trustBundleRules],
  ['podcertificaterequests.certificates.k8s.io', podCertificateRequestRules],
  ['namespaces', namespaceRules],
  ['nodes', nodeRules],
  ['pods', podRules],
]);

export function rulesOf(resource: string): KindRules {
  return rules.get(resource) ?? noRules;
}
