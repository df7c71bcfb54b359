// Encodes objects as a server does: a field without `omitempty`, or of a struct type in Go, is written even when zero; a zero time, list or map is null.
// The store keeps objects without these fields, so that its rules can ignore them.
//
// Invariants: nothing is changed in place; a complete object is returned as it is; each stored object is encoded once.
import { allStructs, structOf } from '../../../domain/values/api-schema/api-schema.js';
import type { ApiFieldType, ApiScalar } from '../../../domain/values/api-schema/field-types.js';
import type { JsonDraft, JsonObject } from '../api-request.js';
import { isObject } from './decode.js';

type Encoder = (value: unknown) => unknown;

const encoded = new WeakMap<object, JsonObject>();

/** An answer: an object, a list of objects, or a document of no kind in the schema. */
export function encodeAnswer(body: JsonObject): JsonObject {
  const { kind, items } = body;
  if (typeof kind !== 'string') return body;
  if (Array.isArray(items) && kind.endsWith('List')) {
    const itemKind = kind.slice(0, -'List'.length);
    return allStructs().has(itemKind) ? { ...body, items: items.map((item: JsonObject) => encodeObject(item, itemKind)) } : body;
  }
  return allStructs().has(kind) ? encodeObject(body, kind) : body;
}

function encodeObject(object: JsonObject, struct: string): JsonObject {
  let known = encoded.get(object);
  if (known === undefined) {
    known = encoderOf(struct)(object) as JsonObject;
    encoded.set(object, known);
  }
  return known;
}

const encoders = new Map<string, Encoder>();

function encoderOf(struct: string): Encoder {
  let encoder = encoders.get(struct);
  if (encoder === undefined) {
    encoder = compiled(struct);
    encoders.set(struct, encoder);
  }
  return encoder;
}

function compiled(struct: string): Encoder {
  const members: (readonly [name: string, encode: Encoder])[] = [];
  const zeros: (readonly [name: string, type: ApiFieldType])[] = [];
  for (const [name, type] of structOf(struct)) {
    if (type.kind !== 'scalar') members.push([name, fieldEncoder(type)]);
    if (writesZero(type)) zeros.push([name, type]);
  }
  return (value) => {
    if (!isObject(value)) return value;
    let out: JsonDraft | null = null;
    for (const [name, encode] of members) {
      const given = value[name];
      if (given === undefined || given === null) continue;
      const now = encode(given);
      if (now !== given) {
        out ??= { ...value };
        out[name] = now;
      }
    }
    for (const [name, type] of zeros) {
      if (value[name] !== undefined) continue;
      out ??= { ...value };
      out[name] = writtenZero(type);
    }
    return out ?? value;
  };
}

function fieldEncoder(type: ApiFieldType): Encoder {
  switch (type.kind) {
    case 'scalar':
      return (value) => value;
    case 'struct':
      return (value) => encoderOf(type.struct)(value);
    case 'list': {
      const encode = fieldEncoder(type.item);
      return (value) => (Array.isArray(value) ? mapped(value, encode) : value);
    }
    case 'map': {
      const encode = fieldEncoder(type.item);
      return (value) => (isObject(value) && type.item.kind !== 'scalar' ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, encode(item)])) : value);
    }
  }
}

function mapped(items: readonly unknown[], encode: Encoder): readonly unknown[] {
  let out: unknown[] | null = null;
  for (const [i, item] of items.entries()) {
    const now = encode(item);
    if (now === item) continue;
    out ??= [...items];
    out[i] = now;
  }
  return out ?? items;
}

/** Scalars of JSON that are structs in Go, which `omitempty` doesn't leave out. */
const structScalars: ReadonlySet<ApiScalar> = new Set<ApiScalar>(['time', 'microTime', 'quantity', 'intOrString']);

function writesZero(type: ApiFieldType): boolean {
  if (type.isAlways) return true;
  if (type.isPointer || type.omitsZero) return false;
  return type.kind === 'struct' || (type.kind === 'scalar' && structScalars.has(type.scalar));
}

function writtenZero(type: ApiFieldType): unknown {
  if (type.isPointer || type.kind === 'list' || type.kind === 'map') return null;
  if (type.kind === 'struct') return encoderOf(type.struct)({});
  switch (type.scalar) {
    case 'time':
    case 'microTime':
    case 'any':
      return null;
    case 'bool':
      return false;
    case 'string':
    case 'bytes':
      return '';
    case 'quantity':
      return '0';
    case 'int32':
    case 'int64':
    case 'intOrString':
      return 0;
  }
}
