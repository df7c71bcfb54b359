// An API server's handling of a Node: its form on the wire, and strategic merge patches to its status.
import { canonicalQuantity, mustParseQuantity } from '../../src/domain/values/quantity.js';
import type { Node } from '../../src/ports/model/node.js';
import { isObject } from './compare.js';

type JsonObject = Record<string, unknown>;

const nodeInfoTexts = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
];

/** Labels, annotations and status as the API server answers them: empty members left out, amounts canonical, fixed members always there. */
export function storedNode(node: Node): JsonObject & { readonly metadata: JsonObject; readonly status: JsonObject } {
  const { labels, annotations, name } = node.metadata;
  const status = (node.status ?? {}) as JsonObject;
  const amounts = (list: unknown): unknown =>
    Object.fromEntries(Object.entries((list ?? {}) as Record<string, string>).map(([key, text]) => [key, canonicalQuantity(mustParseQuantity(text))]));
  const typed: JsonObject = withoutEmpty({ ...status, capacity: amounts(status['capacity']), allocatable: amounts(status['allocatable']) });
  const info = (status['nodeInfo'] ?? {}) as JsonObject;
  typed['nodeInfo'] = { ...info, ...Object.fromEntries(nodeInfoTexts.map((key) => [key, info[key] ?? ''])) };
  typed['daemonEndpoints'] = { kubeletEndpoint: { Port: 0 }, ...((status['daemonEndpoints'] ?? {}) as JsonObject) };
  return { metadata: { name, ...withoutEmpty({ labels, annotations }) }, spec: node.spec ?? {}, status: typed };
}

/** Status and metadata after a patch. */
export function patchedNode(node: Node, patch: JsonObject): Node {
  const { status, metadata } = merged({ status: node.status ?? {}, metadata: node.metadata }, patch);
  return { ...node, metadata: metadata as Node['metadata'], status: status as NonNullable<Node['status']> };
}

function merged(target: JsonObject, patch: JsonObject): JsonObject {
  const result = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$setElementOrder/')) continue;
    if (value === null) delete result[key];
    else if (isObject(value)) result[key] = merged(isObject(result[key]) ? result[key] : {}, value);
    else if (Array.isArray(value) && (key === 'conditions' || key === 'addresses')) result[key] = mergedByType((result[key] ?? []) as JsonObject[], value as JsonObject[]);
    else result[key] = value;
  }
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith('$setElementOrder/')) continue;
    const name = key.slice('$setElementOrder/'.length);
    const types = (order as JsonObject[]).map(({ type }) => type);
    result[name] = [...((result[name] ?? []) as JsonObject[])].sort((a, b) => types.indexOf(a['type']) - types.indexOf(b['type']));
  }
  return result;
}

function mergedByType(target: readonly JsonObject[], patch: readonly JsonObject[]): JsonObject[] {
  const items = patch.filter((item) => item['$patch'] === undefined);
  if (patch.some((item) => item['$patch'] === 'replace')) return items;
  const removed = patch.filter((item) => item['$patch'] === 'delete').map(({ type }) => type);
  const kept = target.filter(({ type }) => !removed.includes(type)).map((item) => merged(item, items.find(({ type }) => type === item['type']) ?? {}));
  return [...kept, ...items.filter(({ type }) => !target.some((item) => item['type'] === type)).map((item) => merged({}, item))];
}

function withoutEmpty(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined && value !== null && value !== '' && !(typeof value === 'object' && Object.keys(value).length === 0)),
  );
}
