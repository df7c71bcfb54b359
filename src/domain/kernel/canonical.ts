// One text for one value: object keys sorted, Maps and Sets as arrays in insertion order, bigints and bytes tagged. What states and
// outputs are hashed and compared by; key order of an input never shows.
// Invariant: a text is read back as an equal value; a key of the data that begins with `$` gets another one, so that none looks like a tag.

/** Canonical JSON of plain data (objects, arrays, Maps, Sets, bigints, bytes, primitives). Undefined members are omitted. */
export function canonicalJson(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  switch (typeof value) {
    case 'number':
    case 'boolean':
    case 'string':
      return JSON.stringify(value);
    case 'bigint':
      return `{"$int":"${value}"}`;
    default:
      return ofObject(value as object);
  }
}

function ofObject(value: object): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value instanceof Map) return `{"$map":[${[...value].map(([k, v]) => `[${canonicalJson(k)},${canonicalJson(v)}]`).join(',')}]}`;
  if (value instanceof Set) return `{"$set":[${[...value].map(canonicalJson).join(',')}]}`;
  if (value instanceof Uint8Array) return `{"$bytes":[${value.join(',')}]}`;
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) parts.push(`${JSON.stringify(key.startsWith('$') ? `$${key}` : key)}:${canonicalJson(member)}`);
  }
  return `{${parts.join(',')}}`;
}

/** The value of a canonical text. Throws SyntaxError on anything else. */
export function parseCanonicalJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) => (typeof value === 'object' && value !== null && !Array.isArray(value) ? untagged(value as Record<string, unknown>) : value));
}

function untagged(object: Record<string, unknown>): unknown {
  const keys = Object.keys(object);
  if (!keys.some((key) => key.startsWith('$'))) return object;
  const [only = ''] = keys;
  const tagged = object[only];
  switch (only) {
    case '$int':
      return BigInt(tagged as string);
    case '$map':
      return new Map(tagged as [unknown, unknown][]);
    case '$set':
      return new Set(tagged as unknown[]);
    case '$bytes':
      return Uint8Array.from(tagged as number[]);
    default:
      return Object.fromEntries(Object.entries(object).map(([key, value]) => [key.startsWith('$') ? key.slice(1) : key, value]));
  }
}

/** 53-bit FNV-like hash of a text, in hex: for comparing runs, not for security. */
export function hashText(text: string, seed = 0): string {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return (low >>> 0).toString(16).padStart(8, '0') + (high >>> 0).toString(16).padStart(8, '0');
}
