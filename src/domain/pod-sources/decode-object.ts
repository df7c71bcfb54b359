// Converts plain values (of a parsed YAML or JSON text) to API objects, by the schema: types are strict, unknown fields are dropped, null is absent.
// Invariant: the result is a fresh tree with no zero values in plain fields; the caller owns it.

import { type FieldType, podSchema, type Scalar } from '../values/api-schema/pod-schema.js';
import { parseQuantity, quantityText } from '../values/quantity.js';
import { formatRfc3339, parseRfc3339 } from '../values/time.js';

export type PlainObject = Record<string, unknown>;

/** The first field whose value has the wrong type. */
export class DecodeError extends Error {
  constructor(path: string, problem: string) {
    super(path === '' ? problem : `${path}: ${problem}`);
    this.name = 'DecodeError';
  }
}

const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);

/** The object's type, handled separately; matches case-insensitively. */
const typeMetaFields: ReadonlySet<string> = new Set(['apiversion', 'kind']);

/** Throws `DecodeError`, which names the field. Paths of fields that the schema doesn't know are added to `unknown`. */
export function decodeObject(value: unknown, struct: string, path: string, unknown: string[]): PlainObject {
  const fields = podSchema.get(struct);
  if (fields === undefined) throw new Error(`pod schema: no type ${struct}`);
  if (value === null || value === undefined) return {};
  if (!isPlainObject(value)) throw new DecodeError(path, `expected an object, got ${describe(value)}`);
  const out: PlainObject = {};
  for (const name of Object.keys(value)) {
    if (!fields.has(name) && !(struct === 'Pod' && typeMetaFields.has(name.toLowerCase()))) unknown.push(path === '' ? name : `${path}.${name}`);
  }
  for (const [name, type] of fields) {
    if (!Object.hasOwn(value, name)) continue;
    const given = value[name];
    if (given === null || given === undefined) continue;
    const decoded = decodeField(given, type, path === '' ? name : `${path}.${name}`, unknown);
    if (!isLeftOut(decoded, type)) out[name] = decoded;
  }
  return out;
}

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decodeField(value: unknown, type: FieldType, path: string, unknown: string[]): unknown {
  switch (type.kind) {
    case 'scalar':
      return decodeScalar(value, type.scalar, path);
    case 'struct':
      return decodeObject(value, type.struct, path, unknown);
    case 'list':
      if (!Array.isArray(value)) throw new DecodeError(path, `expected a list, got ${describe(value)}`);
      return value.map((item: unknown, i) => (item === null ? zeroOf(type.item) : decodeField(item, type.item, `${path}[${i}]`, unknown)));
    case 'map':
      return decodeMap(value, type.item, path, unknown);
  }
}

function decodeMap(value: unknown, item: FieldType, path: string, unknown: string[]): PlainObject {
  if (!isPlainObject(value)) throw new DecodeError(path, `expected an object, got ${describe(value)}`);
  const out: PlainObject = {};
  for (const [key, given] of Object.entries(value)) {
    const decoded = given === null ? zeroOf(item) : decodeField(given, item, `${path}[${key}]`, unknown);
    // An own property, also for a key like `__proto__`.
    Object.defineProperty(out, key, { value: decoded, enumerable: true, writable: true, configurable: true });
  }
  return out;
}

function decodeScalar(value: unknown, scalar: Scalar, path: string): unknown {
  switch (scalar) {
    case 'any':
      return value;
    case 'string':
      if (typeof value === 'string') return value;
      break;
    case 'bool':
      if (typeof value === 'boolean') return value;
      break;
    case 'int32':
    case 'int64':
      return decodeInteger(value, scalar, path);
    case 'intOrString':
      return typeof value === 'string' ? value : decodeInteger(value, 'int32', path);
    case 'quantity':
      return decodeQuantity(value, path);
    case 'time':
      return decodeTime(value, path);
  }
  throw new DecodeError(path, `expected a ${scalar === 'bool' ? 'boolean' : scalar}, got ${describe(value)}`);
}

function decodeInteger(value: unknown, width: 'int32' | 'int64', path: string): number {
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  if (!isNumber || (typeof value === 'number' && !Number.isInteger(value))) throw new DecodeError(path, `expected an integer, got ${describe(value)}`);
  const exact = BigInt(value);
  const [low, high] = width === 'int64' ? [minInt64, maxInt64] : [-(2n ** 31n), 2n ** 31n - 1n];
  if (exact < low || exact > high) throw new DecodeError(path, `${exact} does not fit an ${width}`);
  // + 0 turns a written -0 into the 0 it means.
  return Number(value) + 0;
}

function decodeQuantity(value: unknown, path: string): string {
  const text = typeof value === 'string' ? value.trim() : typeof value === 'number' || typeof value === 'bigint' ? String(value) : null;
  if (text === null) throw new DecodeError(path, `expected a quantity, got ${describe(value)}`);
  const parsed = parseQuantity(text);
  if (!parsed.ok) throw new DecodeError(path, `${JSON.stringify(text.slice(0, 60))}: ${parsed.error}`);
  return quantityText(parsed.quantity);
}

function decodeTime(value: unknown, path: string): string {
  const time = typeof value === 'string' ? parseRfc3339(value) : null;
  if (time === null) throw new DecodeError(path, `expected an RFC 3339 time, got ${describe(value)}`);
  return formatRfc3339(time);
}

function zeroOf(type: FieldType): unknown {
  if (type.kind === 'struct' || type.kind === 'map') return {};
  if (type.kind === 'list') return [];
  switch (type.scalar) {
    case 'bool':
      return false;
    case 'quantity':
      return '0';
    case 'string':
    case 'time':
      return '';
    case 'int32':
    case 'int64':
    case 'intOrString':
      return 0;
    case 'any':
      return null;
  }
}

function isLeftOut(value: unknown, type: FieldType): boolean {
  switch (type.kind) {
    case 'list':
      return (value as readonly unknown[]).length === 0;
    case 'map':
      return Object.keys(value as PlainObject).length === 0;
    case 'struct':
      return !type.isPointer && Object.keys(value as PlainObject).length === 0;
    case 'scalar':
      // A port or a divisor of zero is written out by the API too: their types have no empty form.
      if (type.isPointer || type.isAlways || type.scalar === 'intOrString' || type.scalar === 'quantity') return false;
      return value === '' || value === 0 || value === false;
  }
}

/** A short form of the user's value: `"yes"`, `true`, `a list`. */
function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isPlainObject(value)) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return `the ${typeof value === 'bigint' ? 'number' : typeof value} ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}
