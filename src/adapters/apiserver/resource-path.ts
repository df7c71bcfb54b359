// The paths of objects and collections, and the names of their kinds in messages.
// Invariant: a name is one element of the path, with any characters.
import type { ApiResource, ApiSelection } from '../../ports/model/api-object.js';

export function collectionPath({ group, version, plural }: ApiResource, namespace: string | null): string {
  const api = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${api}${namespace === null ? '' : `/namespaces/${encodeURIComponent(namespace)}`}/${plural}`;
}

export function objectPath(resource: ApiResource, namespace: string | null, name: string, subresource: string | null): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}${subresource === null || subresource === '' ? '' : `/${subresource}`}`;
}

/** `leases.coordination.k8s.io`; a core one by its plural alone. */
export function resourceName({ group, plural }: ApiResource): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** `?a=b&c=d`, or nothing. Omits null values. */
export function queryOf(parameters: Readonly<Record<string, string | number | null>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== '');
  return given.length === 0 ? '' : `?${given.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&')}`;
}

export function selectionParameters({ fieldSelector, labelSelector }: ApiSelection): Readonly<Record<string, string | null>> {
  return { fieldSelector, labelSelector };
}
