// Parses API paths: a collection, an object, or a document about the server itself.
import type { ApiTarget } from '../../sim/index.js';

export type RequestPath = { readonly kind: 'resource'; readonly target: ApiTarget } | { readonly kind: 'document'; readonly path: string } | { readonly kind: 'unknown' };

/** Group documents have one or two parts below `/apis`. */
const documentDepth = 2;

export function readRequestPath(pathname: string): RequestPath {
  const segments = pathname.split('/').filter((part) => part !== '');
  let parts: string[];
  try {
    parts = segments.map(decodeURIComponent);
  } catch {
    return { kind: 'unknown' };
  }
  const [root, ...rest] = parts;
  if (root === 'api' && rest.length > 1) return resourceOf('', rest[0] as string, rest.slice(1));
  if (root === 'apis' && rest.length > documentDepth) return resourceOf(rest[0] as string, rest[1] as string, rest.slice(2));
  return { kind: 'document', path: `/${parts.join('/')}` };
}

function resourceOf(group: string, version: string, parts: readonly string[]): RequestPath {
  const isWithin = parts[0] === 'namespaces' && parts.length > 2 && !(group === '' && parts.length === 3 && ['status', 'finalize'].includes(parts[2] as string));
  const namespace = isWithin ? (parts[1] as string) : null;
  const [plural, name, ...more] = isWithin ? parts.slice(2) : parts;
  if (plural === undefined || (more.length > 1 && more[0] !== 'proxy')) return { kind: 'unknown' };
  return { kind: 'resource', target: { resource: { group, version, plural }, namespace, name: name ?? null, subresource: more[0] ?? null } };
}
