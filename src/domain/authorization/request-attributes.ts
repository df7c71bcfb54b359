// What a request to the kubelet's port asks of the authorizer: always something of this node, as a subresource of `nodes`, so that
// cluster roles can grant parts of a kubelet (Kubernetes' kubelet authorization, with fine-grained subresources, KEP-2862).
// Invariant: every request has at least one check; the last one of a fine-grained pair is `proxy`, which grants everything.
import { utf8Decode } from '../values/utf8.js';

export interface AccessAttributes {
  /** '' where the method has no verb: then only a rule for all verbs matches. */
  readonly verb: string;
  readonly apiGroup: '';
  readonly apiVersion: 'v1';
  readonly resource: 'nodes';
  readonly subresource: string;
  /** The node's name. */
  readonly name: string;
}

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

/** A request target's path (origin or absolute form), still percent-encoded, and its query without `?`. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const origin = target.replace(/^https?:\/\/[^/?]*/i, '');
  const at = origin.indexOf('?');
  return at < 0 ? { path: origin, query: '' } : { path: origin.slice(0, at), query: origin.slice(at + 1) };
}

/** Percent-decodes a path; null when an escape is broken, which a server answers with 400. */
export function decodePath(path: string): string | null {
  if (!path.includes('%')) return path;
  if (/%(?![0-9a-fA-F]{2})/.test(path)) return null;
  return path.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => utf8Decode(Uint8Array.from(run.slice(1).split('%'), (digits) => Number.parseInt(digits, 16))));
}
