// Decodes a client's object by the schema as a server does: types are strict, null is absent, unknown fields are dropped and reported.
// Invariant: the result is a fresh tree with no zero values in plain fields; the caller owns it.

import { structOf } from '../../../domain/values/api-schema/api-schema.js';
import type { ApiFieldType, ApiScalar } from '../../../domain/values/api-schema/field-types.js';
import { base64Decode } from '../../../domain/values/base64.js';
import { parseQuantity, quantityText } from '../../../domain/values/quantity.js';
import { formatRfc3339, formatRfc3339Micros, parseRfc3339 } from '../../../domain/values/time.js';
import type { JsonDraft } from '../api-request.js';

/** The first value of a wrong type, in the words of Go's decoder. */
export class WrongType extends Error {}

const typeMeta: ReadonlySet<string> = new Set(['apiVersion', 'kind']);
const goTypes: Readonly<Record<ApiScalar, string>> = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  quantity: 'resource.Quantity',
  time: 'v1.Time',
  microTime: 'v1.MicroTime',
  bytes: '[]uint8',
  intOrString: 'intstr.IntOrString',
  any: 'interface {}',
};

interface Place {
  /** The struct that contains the field. */
  readonly struct: string;
  /** In Go's form: without indices. */
  readonly field: string;
  /** With indices, as in messages about unknown fields. */
  readonly path: string;
}

/** Throws `WrongType`. The paths of unknown fields are added to `unknown`. */
export function decodeStruct(value: unknown, struct: string, unknown: string[]): JsonDraft {
  return readStruct(value, struct, { struct, field: '', path: '' }, unknown);
}

export function isObject(value: unknown): value is JsonDraft {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readStruct(value: unknown, struct: string, place: Place, unknown: string[]): JsonDraft {
  if (!isObject(value)) throw wrongType(value, place, `v1.${struct}`);
  const fields = structOf(struct);
  const isRoot = place.path === '';
  const out: JsonDraft = {};
  if (isRoot) for (const name of typeMeta) if (typeof value[name] === 'string') out[name] = value[name];
  for (const name of Object.keys(value)) {
    const type = fields.get(name);
    if (type === undefined) {
      if (!isRoot || !typeMeta.has(name)) unknown.push(isRoot ? name : `${place.path}.${name}`);
      continue;
    }
    const given = value[name];
    if (given === null || given === undefined) continue;
    const read = readField(given, type, { struct, field: isRoot ? name : `${place.field}.${name}`, path: isRoot ? name : `${place.path}.${name}` }, unknown);
    if (!isLeftOut(read, type)) out[name] = read;
  }
  return out;
}

function readField(value: unknown, type: ApiFieldType, place: Place, unknown: string[]): unknown {
  switch (type.kind) {
    case 'scalar':
      return readScalar(value, type.scalar, place);
    case 'struct':
      return readStruct(value, type.struct, place, unknown);
    case 'list': {
      if (!Array.isArray(value)) throw wrongType(value, place, `[]${goTypeOf(type.item)}`);
      return value.map((item: unknown, i) => (item === null ? zeroOf(type.item) : readField(item, type.item, { ...place, path: `${place.path}[${i}]` }, unknown)));
    }
    case 'map': {
      if (!isObject(value)) throw wrongType(value, place, `map[string]${goTypeOf(type.item)}`);
      const out: JsonDraft = {};
      for (const [key, given] of Object.entries(value)) {
        const read = given === null ? zeroOf(type.item) : readField(given, type.item, { ...place, path: `${place.path}[${key}]` }, unknown);
        // An own property, also for a key like `__proto__`.
        Object.defineProperty(out, key, { value: read, enumerable: true, writable: true, configurable: true });
      }
      return out;
    }
  }
}

function readScalar(value: unknown, scalar: ApiScalar, place: Place): unknown {
  switch (scalar) {
    case 'any':
      return structuredCopy(value);
    case 'string':
      if (typeof value === 'string') return value;
      break;
    case 'bool':
      if (typeof value === 'boolean') return value;
      break;
    case 'int32':
    case 'int64':
      return readInteger(value, scalar, place);
    case 'intOrString':
      return typeof value === 'string' ? value : readInteger(value, 'int32', place);
    case 'quantity':
      return readQuantity(value);
    case 'bytes':
      if (typeof value !== 'string') break;
      if (base64Decode(value) === null) throw new WrongType('illegal base64 data at input byte 0');
      return value;
    case 'time':
    case 'microTime':
      return readTime(value, scalar, place);
  }
  throw wrongType(value, place, goTypes[scalar]);
}

function readInteger(value: unknown, width: 'int32' | 'int64', place: Place): number {
  if (typeof value !== 'number') throw wrongType(value, place, width);
  const fits = Number.isInteger(value) && (width === 'int64' || (value >= -(2 ** 31) && value < 2 ** 31));
  if (!fits) throw new WrongType(`json: cannot unmarshal number ${value} into Go struct field ${place.struct}.${place.field} of type ${width}`);
  return value + 0;
}

function readQuantity(value: unknown): string {
  const text = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
  const parsed = parseQuantity(text.trim());
  if (!parsed.ok) throw new WrongType(parsed.error);
  return quantityText(parsed.quantity);
}

function readTime(value: unknown, scalar: 'time' | 'microTime', place: Place): string {
  if (typeof value !== 'string') throw wrongType(value, place, goTypes[scalar]);
  const time = parseRfc3339(value);
  if (time === null) throw new WrongType(`parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(value)} as "2006"`);
  return scalar === 'time' ? formatRfc3339(time) : formatRfc3339Micros(time);
}

function structuredCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structuredCopy);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, structuredCopy(item)]));
}

function zeroOf(type: ApiFieldType): unknown {
  if (type.kind === 'struct' || type.kind === 'map') return {};
  if (type.kind === 'list') return [];
  if (type.scalar === 'bool') return false;
  if (type.scalar === 'quantity') return '0';
  if (type.scalar === 'any') return null;
  return type.scalar === 'int32' || type.scalar === 'int64' || type.scalar === 'intOrString' ? 0 : '';
}

function isLeftOut(value: unknown, type: ApiFieldType): boolean {
  switch (type.kind) {
    case 'list':
      return (value as readonly unknown[]).length === 0;
    case 'map':
      return Object.keys(value as JsonDraft).length === 0;
    case 'struct':
      return !type.isPointer && Object.keys(value as JsonDraft).length === 0;
    case 'scalar':
      if (type.isPointer || type.isAlways || type.scalar === 'intOrString' || type.scalar === 'quantity') return false;
      return value === '' || value === 0 || value === false;
  }
}

function goTypeOf(type: ApiFieldType): string {
  switch (type.kind) {
    case 'scalar':
      return goTypes[type.scalar];
    case 'struct':
      return `v1.${type.struct}`;
    case 'list':
      return `[]${goTypeOf(type.item)}`;
    case 'map':
      return `map[string]${goTypeOf(type.item)}`;
  }
}

function wrongType(value: unknown, place: Place, goType: string): WrongType {
  const word = Array.isArray(value) ? 'array' : isObject(value) ? 'object' : typeof value === 'boolean' ? 'bool' : typeof value;
  const where = place.field === '' ? 'Go value' : `Go struct field ${place.struct}.${place.field}`;
  return new WrongType(`json: cannot unmarshal ${word} into ${where} of type ${goType}`);
}
