// The fields of every kind that the apiserver keeps, from one set of tables: decoding, defaults, merging and OpenAPI all use it.
// Invariant: every type that a field names exists.

import { coreStructs } from './core-structs.js';
import { deviceStructs } from './device-structs.js';
import { type ApiStruct, fromPodField, type ListMerge, readFieldType, type StructTable } from './field-types.js';
import { otherStructs } from './other-structs.js';
import { podSchema } from './pod-schema.js';
import { podListKeys, podStatusStructs } from './pod-structs.js';
import { storageStructs } from './storage-structs.js';

const tables: StructTable = { ...coreStructs, ...storageStructs, ...otherStructs, ...deviceStructs, ...podStatusStructs };

function mergeOfPodList(struct: string, field: string): ListMerge {
  const keys = podListKeys[`${struct}.${field}`];
  if (keys === undefined) return { by: 'nothing' };
  return keys === '=' ? { by: 'value' } : { by: 'keys', keys: keys.split(',') };
}

function readSchema(): ReadonlyMap<string, ApiStruct> {
  const known = new Set([...podSchema.keys(), ...Object.keys(tables)]);
  const schema = new Map<string, ApiStruct>();
  for (const [struct, fields] of podSchema) {
    schema.set(struct, new Map([...fields].map(([field, type]) => [field, fromPodField(type, mergeOfPodList(struct, field))])));
  }
  for (const [struct, fields] of Object.entries(tables)) {
    schema.set(struct, new Map(Object.entries(fields).map(([field, type]) => [field, readFieldType(type, known)])));
  }
  return schema;
}

const apiSchema: ReadonlyMap<string, ApiStruct> = readSchema();

export function structOf(name: string): ApiStruct {
  const struct = apiSchema.get(name);
  if (struct === undefined) throw new Error(`API schema: no type ${name}`);
  return struct;
}

export function allStructs(): ReadonlyMap<string, ApiStruct> {
  return apiSchema;
}
