// Discovery: groups, versions and collections, in each form that clients request. The caller chooses the collections.

import type { JsonObject } from '../api-request.js';
import { apiVersionOf, type ResourceType, type Subresource } from '../resource-types.js';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Kinds of a subresource's body, if different from the object's. */
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

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** Every group and version that something is in, the core first; of one group the stable version first. */
export function groupVersions(types: readonly ResourceType[]): readonly GroupVersion[] {
  const known = new Map<string, GroupVersion>();
  for (const { group, version } of types) known.set(apiVersionOf({ group, version }), { group, version });
  const groups = [...new Set(types.map(({ group }) => group))];
  return groups.flatMap((group) => [...known.values()].filter((entry) => entry.group === group).sort((a, b) => a.version.length - b.version.length));
}

function verbsOf({ isReview }: ResourceType): readonly string[] {
  return isReview ? ['create'] : verbs;
}

/** `GET /api`. */
export function coreVersions(): JsonObject {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
}

function groupObject(types: readonly ResourceType[], group: string): JsonObject {
  const versions = groupVersions(types.filter((type) => type.group === group)).map((entry) => ({ groupVersion: apiVersionOf(entry), version: entry.version }));
  return { name: group, versions, preferredVersion: versions[0] ?? null };
}

function groupNames(types: readonly ResourceType[]): readonly string[] {
  return [...new Set(types.map(({ group }) => group))];
}

/** `GET /apis`. */
export function groupList(types: readonly ResourceType[]): JsonObject {
  const groups = groupNames(types).filter((group) => group !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map((group) => groupObject(types, group)) };
}

/** `GET /apis/<group>`; null for an unknown group. */
export function groupDocument(types: readonly ResourceType[], group: string): JsonObject | null {
  return group !== '' && groupNames(types).includes(group) ? { kind: 'APIGroup', apiVersion: 'v1', ...groupObject(types, group) } : null;
}

/** `GET /api/v1`, `GET /apis/<group>/<version>`; null for an unknown version. */
export function resourceList(types: readonly ResourceType[], { group, version }: GroupVersion): JsonObject | null {
  const held = types.filter((type) => type.group === group && type.version === version);
  if (held.length === 0) return null;
  const resources = held.flatMap((type) => {
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
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf({ group, version }), resources };
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
export function aggregatedDiscovery(types: readonly ResourceType[], isCore: boolean, apiVersion: string): JsonObject {
  const groups = groupNames(types).filter((group) => (group === '') === isCore);
  const items = groups.map((group) => {
    const held = types.filter((type) => type.group === group);
    const versions = groupVersions(held).map(({ version }) => ({
      version,
      freshness: 'Current',
      resources: held.filter((type) => type.version === version).map(aggregatedResource),
    }));
    return { metadata: group === '' ? { creationTimestamp: null } : { name: group, creationTimestamp: null }, versions };
  });
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
