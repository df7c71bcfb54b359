// The authorizer's attributes of a request to the kubelet's port: always a subresource of this node in `nodes`, so that
// cluster roles can grant parts of a kubelet (Kubernetes' kubelet authorization, with fine-grained subresources, KEP-2862).
// Invariant: every request has at least one check; the last one of a fine-grained pair is `proxy`, which grants everything.
import type { AccessAttributes } from '../../ports/inbound/request-policy.js';

const verbs: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

/** A path and everything below it -> the subresources that grant it, any of which is enough. */
const subresources: readonly (readonly [path: string, subresources: readonly string[]])[] = [
  ['/stats', ['stats']],
  ['/metrics', ['metrics']],
  ['/logs', ['log']],
  ['/checkpoint', ['checkpoint']],
  ['/statusz', ['statusz']],
  ['/flagz', ['configz']],
  ['/configz', ['configz', 'proxy']],
  ['/healthz', ['healthz', 'proxy']],
  ['/pods', ['pods', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
];
const everythingElse: readonly string[] = ['proxy'];

/** The checks for a request, in order; the first that is allowed lets it through. @param path decoded, but not cleaned, without query */
export function accessAttributes(method: string, path: string, nodeName: string): readonly AccessAttributes[] {
  const granting = subresources.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))?.[1] ?? everythingElse;
  const verb = verbs.get(method) ?? '';
  return granting.map((subresource) => ({ verb, apiGroup: '', apiVersion: 'v1', resource: 'nodes', subresource, name: nodeName }));
}
