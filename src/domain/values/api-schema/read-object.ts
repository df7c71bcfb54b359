// Reads API objects by the schema, as Go's decoder does: null is absent, a list or a field that is always
// written is present, a value of another type makes the object unusable. Each struct is compiled once, when it is first read.
//
// Invariants: unknown fields stay as they are; a value without changes is returned as it is, not copied; nothing is
// changed in place; an error names the field and never its content, which may be a secret.
import { parseQuantity } from '../quantity.js';
import { parseRfc3339 } from '../time.js';
import { structOf } from './api-schema.js';
import type { ApiFieldType, ApiScalar } from './field-types.js';

type Json = Record<string, unknown>;
/** Of a value that is not null; undefined: the value counts as absent. */
type Reader = (value: unknown) => unknown;

/** A value has another type than its field. */
export class WrongField extends Error {
  /** The keys from the inside out. */
  private readonly path: string[] = [];

  constructor(
    private readonly expectation: string,
    private readonly found: string,
  ) {
    super();
  }

  /** The path segment after its parent: `.name`, `[0]`. */
  within(place: string): this {
    this.path.push(place);
    return this;
  }

  override get message(): string {
    const path = this.path.reverse().join('').replace(/^\./, '');
    this.path.reverse();
    return `${path === '' ? '' : `${path}: `}expected ${this.expectation}, found ${this.found}`;
  }
}

/** Reads an object of a struct of the schema. Throws WrongField. */
export function readObject(value: unknown, struct: string): Json {
  if (value === null || value === undefined) throw wrong('an object', value);
  return structReader(struct)(value) as Json;
}

const readers = new Map<string, Reader>();

function structReader(struct: string): Reader {
  let reader = readers.get(struct);
  if (reader === undefined) {
    reader = compiled(struct);
    readers.set(struct, reader);
  }
  return reader;
}

function compiled(struct: string): Reader {
  const fields = new Map<string, Reader>();
  const always: (readonly [name: string, zero: () => unknown])[] = [];
  for (const [name, type] of structOf(struct)) {
    fields.set(name, fieldReader(type));
    if (isFilled(type)) always.push([name, () => zeroOf(type)]);
  }
  for (const name of ['apiVersion', 'kind']) if (fields.has('metadata')) fields.set(name, scalarReaders.string);
  return (value) => {
    if (!isObject(value)) throw wrong('an object', value);
    let out = readMembers(value, fields);
    for (const [name, zero] of always) {
      if ((out[name] ?? undefined) !== undefined) continue;
      if (out === value) out = { ...value };
      out[name] = zero();
    }
    return out;
  };
}

/** Fields that the ports' models require. Times that are always written are null when zero, and so are pointers. */
function isFilled(type: ApiFieldType): boolean {
  return type.isAlways && !type.isPointer && !(type.kind === 'scalar' && (type.scalar === 'time' || type.scalar === 'microTime' || type.scalar === 'any'));
}

function readMembers(value: Json, fields: ReadonlyMap<string, Reader>): Json {
  let out: Json | null = null;
  let at = '';
  try {
    for (at in value) {
      const given = value[at];
      const read = fields.get(at);
      const now = read === undefined ? given : given === null || given === undefined ? undefined : read(given);
      if (now !== given && out === null) out = membersBefore(value, at);
      if (out !== null && now !== undefined) setOwn(out, at, now);
    }
  } catch (error) {
    throw error instanceof WrongField ? error.within(`.${at}`) : error;
  }
  return out ?? value;
}

function membersBefore(value: Json, end: string): Json {
  const out: Json = {};
  for (const name in value) {
    if (name === end) break;
    setOwn(out, name, value[name]);
  }
  return out;
}

/** An own property, also for a key like `__proto__`. */
function setOwn(out: Json, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(out, name, { value, enumerable: true, writable: true, configurable: true });
  else out[name] = value;
}

function fieldReader(type: ApiFieldType): Reader {
  switch (type.kind) {
    case 'scalar':
      return scalarReaders[type.scalar];
    case 'struct': {
      let reader: Reader | null = null;
      // Structs are recursive, so the reader is resolved at its first use.
      return (value) => {
        reader ??= structReader(type.struct);
        return reader(value);
      };
    }
    case 'list':
      return listReader(type.item);
    case 'map':
      return mapReader(type.item);
  }
}

function listReader(item: ApiFieldType): Reader {
  const read = fieldReader(item);
  return (value) => {
    if (!Array.isArray(value)) throw wrong('a list', value);
    let out: unknown[] | null = null;
    let at = 0;
    try {
      for (; at < value.length; at++) {
        const given: unknown = value[at];
        const now = (given === null ? undefined : read(given)) ?? zeroOf(item);
        if (now === given) continue;
        out ??= [...value];
        out[at] = now;
      }
    } catch (error) {
      throw error instanceof WrongField ? error.within(`[${at}]`) : error;
    }
    return out ?? value;
  };
}

function mapReader(item: ApiFieldType): Reader {
  const read = fieldReader(item);
  return (value) => {
    if (!isObject(value)) throw wrong('an object', value);
    let out: Json | null = null;
    let at = '';
    try {
      for (at in value) {
        const given = value[at];
        const now = (given === null ? undefined : read(given)) ?? zeroOf(item);
        if (now === given) continue;
        out ??= { ...value };
        setOwn(out, at, now);
      }
    } catch (error) {
      throw error instanceof WrongField ? error.within(`[${at.length > shownKeyLength ? `${at.slice(0, shownKeyLength)}...` : at}]`) : error;
    }
    return out ?? value;
  };
}

/** Keys of maps come from users, and may be of any length. */
const shownKeyLength = 63;

function zeroOf(type: ApiFieldType): unknown {
  switch (type.kind) {
    case 'struct':
      return structReader(type.struct)({});
    case 'map':
      return {};
    case 'list':
      return [];
    case 'scalar':
      if (type.scalar === 'bool') return false;
      if (type.scalar === 'quantity') return '0';
      if (type.scalar === 'any') return null;
      return type.scalar === 'int32' || type.scalar === 'int64' || type.scalar === 'intOrString' ? 0 : '';
  }
}

const goZeroTime = '0001-01-01T00:00:00';
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const usualQuantity = /^\d{1,15}(?:[KMGTPE]i|[kMGTPEm])?$/;

function readTime(value: unknown): unknown {
  if (typeof value !== 'string') throw wrong('a time', value);
  if (value.startsWith(goZeroTime)) return undefined;
  if (parseRfc3339(value) === null) throw wrong('an RFC 3339 time', value);
  return value;
}

function readInteger(bits: 32 | 64): Reader {
  const limit = 2 ** (bits - 1);
  return (value) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) throw wrong('an integer', value);
    if (value < -limit || value >= limit) throw wrong(`an integer of ${bits} bits`, value);
    return value;
  };
}

const readInt32 = readInteger(32);

const scalarReaders: Readonly<Record<ApiScalar, Reader>> = {
  any: (value) => value,
  string(value) {
    if (typeof value !== 'string') throw wrong('a string', value);
    return value;
  },
  bool(value) {
    if (typeof value !== 'boolean') throw wrong('a boolean', value);
    return value;
  },
  int32: readInt32,
  int64: readInteger(64),
  intOrString: (value) => (typeof value === 'string' ? value : readInt32(value)),
  quantity(value) {
    if (typeof value === 'string' && usualQuantity.test(value)) return value;
    const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
    if (!parseQuantity(text).ok) throw wrong('a quantity', value);
    return text;
  },
  bytes(value) {
    if (typeof value !== 'string') throw wrong('base64 text', value);
    if (!base64.test(/[\r\n]/.test(value) ? value.replace(/[\r\n]/g, '') : value)) throw wrong('base64 text', value);
    return value;
  },
  time: readTime,
  microTime: readTime,
};

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(expectation: string, value: unknown): WrongField {
  return new WrongField(expectation, foundType(value, expectation));
}

/** Expectations that some strings fulfil. */
const formats: ReadonlySet<string> = new Set(['base64 text', 'an RFC 3339 time', 'a quantity']);

function foundType(value: unknown, expectation: string): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return formats.has(expectation) ? 'another string' : 'a string';
  return `a ${typeof value}`;
}
