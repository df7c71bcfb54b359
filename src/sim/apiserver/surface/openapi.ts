// OpenAPI 3 documents of the collections, from the schema and the table of collections: for `kubectl explain` and kubectl's validation.

import { structOf } from '../../../domain/values/api-schema/api-schema.js';
import type { ApiFieldType, ApiScalar } from '../../../domain/values/api-schema/field-types.js';
import type { JsonObject } from '../api-request.js';
import { apiVersionOf, type ResourceType } from '../resource-types.js';
import { type GroupVersion, groupVersions } from './discovery.js';

const prefix = 'io.k8s.api.v1.';
const scalarSchemas: Readonly<Record<ApiScalar, JsonObject>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  quantity: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  time: { type: 'string', format: 'date-time' },
  microTime: { type: 'string', format: 'date-time' },
  bytes: { type: 'string', format: 'byte' },
  intOrString: { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' },
  any: { type: 'object' },
};
const queryNames: Readonly<Record<string, readonly string[]>> = {
  get: ['pretty', 'resourceVersion'],
  post: ['dryRun', 'fieldManager', 'fieldValidation', 'pretty'],
  put: ['dryRun', 'fieldManager', 'fieldValidation', 'pretty'],
  patch: ['dryRun', 'fieldManager', 'fieldValidation', 'force', 'pretty'],
  delete: ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy', 'pretty'],
};

/** `GET /openapi/v3`: where the documents are. */
export function openApiIndex(types: readonly ResourceType[]): JsonObject {
  const entries = groupVersions(types).map((entry) => {
    const name = rootOf(entry).slice(1);
    return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=mock` }] as const;
  });
  return { paths: Object.fromEntries(entries) };
}

/** The document of a group's version; null if unknown. */
export function openApiV3(all: readonly ResourceType[], { group, version }: GroupVersion): JsonObject | null {
  const types = all.filter((type) => type.group === group && type.version === version);
  if (types.length === 0) return null;
  const schemas: Record<string, JsonObject> = {};
  for (const type of types) addStruct(schemas, type.kind, type, 'components/schemas');
  const paths = Object.fromEntries(types.flatMap(pathsOf));
  return { openapi: '3.0.0', info: { title: 'Kubernetes', version: 'v1.36.0' }, paths, components: { schemas } };
}

/** All groups in the old form. */
export function openApiV2(types: readonly ResourceType[]): JsonObject {
  const definitions: Record<string, JsonObject> = {};
  for (const type of types) addStruct(definitions, type.kind, type, 'definitions');
  return { swagger: '2.0', info: { title: 'Kubernetes', version: 'v1.36.0' }, paths: {}, definitions };
}

function rootOf({ group, version }: GroupVersion): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** The struct, and every one that it holds. */
function addStruct(schemas: Record<string, JsonObject>, struct: string, type: ResourceType | null, place: string): void {
  const key = `${prefix}${struct}`;
  if (schemas[key] !== undefined) return;
  const properties: Record<string, JsonObject> = {};
  const required: string[] = [];
  schemas[key] = {};
  if (type !== null) for (const name of ['apiVersion', 'kind']) properties[name] = { type: 'string' };
  for (const [name, fieldType] of structOf(struct)) {
    properties[name] = schemaOf(fieldType, place);
    if (fieldType.required) required.push(name);
    const held = heldStruct(fieldType);
    if (held !== null) addStruct(schemas, held, null, place);
  }
  const names = type === null ? {} : { 'x-kubernetes-group-version-kind': [gvk(type)] };
  const description = type === null ? '' : `${type.kind} of ${apiVersionOf(type)}, as this server keeps it.`;
  schemas[key] = { type: 'object', ...(description === '' ? {} : { description }), properties, ...(required.length === 0 ? {} : { required }), ...names };
}

function heldStruct(type: ApiFieldType): string | null {
  if (type.kind === 'struct') return type.struct;
  return type.kind === 'scalar' ? null : heldStruct(type.item);
}

function schemaOf(type: ApiFieldType, place: string): JsonObject {
  switch (type.kind) {
    case 'scalar':
      return scalarSchemas[type.scalar];
    case 'struct':
      return place === 'definitions' ? { $ref: `#/${place}/${prefix}${type.struct}` } : { allOf: [{ $ref: `#/${place}/${prefix}${type.struct}` }], default: {} };
    case 'map':
      return { type: 'object', additionalProperties: schemaOf(type.item, place) };
    case 'list':
      return { type: 'array', items: schemaOf(type.item, place), ...listHints(type) };
  }
}

function listHints({ merge }: Extract<ApiFieldType, { kind: 'list' }>): JsonObject {
  if (merge.by === 'nothing') return { 'x-kubernetes-list-type': 'atomic' };
  if (merge.by === 'value') return { 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' };
  const [key = ''] = merge.keys;
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': merge.keys, 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': key };
}

function gvk({ group, version, kind }: ResourceType): JsonObject {
  return { group, version, kind };
}

function pathsOf(type: ResourceType): [string, JsonObject][] {
  const root = `${rootOf(type)}${type.namespaced ? '/namespaces/{namespace}' : ''}/${type.plural}`;
  const operations = (methods: readonly string[]): JsonObject => Object.fromEntries(methods.map((method) => [method, operation(type, method)]));
  if (type.isReview) return [[root, operations(['post'])]];
  return [
    [root, operations(['get', 'post'])],
    [`${root}/{name}`, operations(['get', 'put', 'patch', 'delete'])],
  ];
}

function operation(type: ResourceType, method: string): JsonObject {
  const parameters = (queryNames[method] ?? []).map((name) => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } }));
  const schema = { $ref: `#/components/schemas/${prefix}${type.kind}` };
  const content = { 'application/json': { schema } };
  const responses = { 200: { description: 'OK', content } };
  return { operationId: `${method}${type.kind}`, parameters, responses, 'x-kubernetes-action': method, 'x-kubernetes-group-version-kind': gvk(type) };
}
