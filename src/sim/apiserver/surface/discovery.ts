// What the server says it has: groups, versions and collections, in the forms that clients ask for.

import type { JsonObject } from '../api-request.js';
import { apiVersionOf, type ResourceType, resourceTypes, type Subresource } from '../resource-types.js';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Kinds of what is sent to a subresource, where they aren't the object's own. */
const partKinds: Partial<Readonly<Record<Subresource, { readonly group: string; readonly kind: string }>>> = {
  binding: { group: '', kind: 'Binding' },
  eviction: { group: 'policy', kind: 'Eviction' },
  token: { group: 'authentication.k8s.io', kind: 'TokenRequest' },
};
const partVerbs: Partial<Readonly<Record<Subresource, readonly string[]>>> = {
  binding: ['create'],
  eviction: ['create'],
  token: ['create'],
  log: ['get'],
  exec: ['create', 'get'],
};

export function apiGroups(): readonly string[] {
  return [...new Set(resourceTypes.map(({ group }) => group))];
}

function typesOf(group: string): readonly ResourceType[] {
  return resourceTypes.filter((type) => type.group === group);
}

function verbsOf({ isReview }: ResourceType): readonly string[] {
  return isReview ? ['create'] : verbs;
}

/** `GET /api`. */
export function coreVersions(): JsonObject {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
}

function groupObject(group: string): JsonObject {
  const version = { groupVersion: `${group}/v1`, version: 'v1' };
  return { name: group, versions: [version], preferredVersion: version };
}

/** `GET /apis`. */
export function groupList(): JsonObject {
  const groups = apiGroups().filter((group) => group !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupObject) };
}

/** `GET /apis/<group>`; null: there is none. */
export function groupDocument(group: string): JsonObject | null {
  return group !== '' && apiGroups().includes(group) ? { kind: 'APIGroup', apiVersion: 'v1', ...groupObject(group) } : null;
}

/** `GET /api/v1`, `GET /apis/<group>/v1`; null: there is none. */
export function resourceList(group: string): JsonObject | null {
  if (!apiGroups().includes(group)) return null;
  const resources = typesOf(group).flatMap((type) => {
    const { plural, singular, namespaced, kind, shortNames, categories } = type;
    const names = { ...(shortNames.length === 0 ? {} : { shortNames }), ...(categories.length === 0 ? {} : { categories }) };
    const own = { name: plural, singularName: singular, namespaced, kind, verbs: verbsOf(type), ...names };
    return [
      own,
      ...type.subresources.map((subresource) => ({
        name: `${plural}/${subresource}`,
        singularName: '',
        namespaced,
        ...partKind(type, subresource),
        verbs: verbsOfPart(subresource),
      })),
    ];
  });
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf({ group, version: 'v1' }), resources };
}

function verbsOfPart(subresource: Subresource): readonly string[] {
  return partVerbs[subresource] ?? ['get', 'patch', 'update'];
}

function partKind(type: ResourceType, subresource: Subresource): { readonly kind: string; readonly group?: string; readonly version?: string } {
  const part = partKinds[subresource];
  if (part === undefined) return { kind: type.kind };
  return part.group === type.group ? { kind: part.kind } : { kind: part.kind, group: part.group, version: 'v1' };
}

/** The aggregated form: everything of the core group, or of all others, in one answer. */
export function aggregatedDiscovery(isCore: boolean, apiVersion: string): JsonObject {
  const groups = apiGroups().filter((group) => (group === '') === isCore);
  const items = groups.map((group) => ({
    metadata: group === '' ? { creationTimestamp: null } : { name: group, creationTimestamp: null },
    versions: [{ version: 'v1', freshness: 'Current', resources: typesOf(group).map(aggregatedResource) }],
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion, metadata: {}, items };
}

function aggregatedResource(type: ResourceType): JsonObject {
  const { plural, singular, namespaced, kind, group, version, shortNames, categories, subresources } = type;
  const responseKind = { group, version, kind };
  return {
    resource: plural,
    responseKind,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: verbsOf(type),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map((subresource) => aggregatedPart(type, subresource)) }),
  };
}

function aggregatedPart(type: ResourceType, subresource: Subresource): JsonObject {
  const { kind, group = type.group } = partKind(type, subresource);
  return { subresource, responseKind: { group, version: 'v1', kind }, verbs: verbsOfPart(subresource) };
}
