// Documents about the server itself: health, version, discovery.
import {
  aggregatedDiscovery,
  coreVersions,
  groupDocument,
  groupList,
  type JsonObject,
  openApiIndex,
  openApiV2,
  openApiV3,
  type ResourceType,
  resourceList,
} from '../../sim/index.js';
import { metricsDiscovery, metricsGroup } from './resource-metrics.js';

export interface ServerDocument {
  readonly body: JsonObject | string;
  readonly contentType?: string;
}

export const mockVersion = 'v1.36.2+mock';

/** The `/version` document of a server that calls itself `v1.36.2`. Throws if the text is no version. */
export function versionDocument(gitVersion: string): JsonObject {
  const match = /^v(\d+)\.(\d+)\.\d+([-+].*)?$/.exec(gitVersion);
  if (match === null) throw new Error(`mock apiserver: ${JSON.stringify(gitVersion)} is no version; expected one as v1.36.2`);
  const [, major = '', minor = ''] = match;
  const build = { gitCommit: '', gitTreeState: 'clean', buildDate: '2026-01-01T00:00:00Z', goVersion: '', compiler: '', platform: 'linux/amd64' };
  return { major, minor, gitVersion, ...build };
}
const healthPaths: readonly string[] = ['/healthz', '/livez', '/readyz', '/ping'];

/** null: no such document. `accept` selects the form of discovery. @param types the server's collections */
export function documentAt(path: string, accept: string, version: JsonObject, types: readonly ResourceType[]): ServerDocument | null {
  if (healthPaths.some((health) => path === health || path.startsWith(`${health}/`))) return { body: 'ok' };
  if (path === '/version') return { body: version };
  if (path === '/') return { body: { paths: ['/api', '/apis', '/healthz', '/livez', '/openapi/v2', '/openapi/v3', '/readyz', '/version'] } };
  if (path === '/openapi/v2') return { body: openApiV2(types) };
  if (path === '/openapi/v3') return { body: openApiIndex(types) };
  return discoveryAt(path, accept, types) ?? openApiAt(path, types);
}

function discoveryAt(path: string, accept: string, types: readonly ResourceType[]): ServerDocument | null {
  if (path === '/api' || path === '/apis') {
    const form = /;v=(v2(?:beta1)?);as=APIGroupDiscoveryList/.exec(accept)?.[1];
    if (form === undefined) return { body: path === '/api' ? coreVersions() : withMetrics(groupList(types), 'groups', metricsDiscovery.group) };
    const contentType = `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`;
    const found = aggregatedDiscovery(types, path === '/api', `apidiscovery.k8s.io/${form}`);
    return { body: path === '/api' ? found : withMetrics(found, 'items', metricsDiscovery.aggregated), contentType };
  }
  const [, root, group = '', version, ...more] = path.split('/');
  if (more.length > 0) return null;
  const body = root === 'api' && version === undefined ? resourceList(types, { group: '', version: group }) : root === 'apis' ? groupBody(group, version, types) : null;
  return body === null ? null : { body };
}

/** The group is another server's, behind this one. */
function withMetrics(document: JsonObject, list: string, entry: JsonObject): JsonObject {
  return { ...document, [list]: [...(document[list] as readonly JsonObject[]), entry] };
}

function groupBody(group: string, version: string | undefined, types: readonly ResourceType[]): JsonObject | null {
  if (group === '') return null;
  if (group === metricsGroup) {
    if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...metricsDiscovery.group };
    return version === metricsDiscovery.version ? metricsDiscovery.resources : null;
  }
  return version === undefined ? groupDocument(types, group) : resourceList(types, { group, version });
}

function openApiAt(path: string, types: readonly ResourceType[]): ServerDocument | null {
  const match = /^\/openapi\/v3\/(?:api\/([^/]+)|apis\/([^/]+)\/([^/]+))$/.exec(path);
  if (match === null) return null;
  const [, core, group = '', version = ''] = match;
  const body = openApiV3(types, core === undefined ? { group, version } : { group: '', version: core });
  return body === null ? null : { body };
}
