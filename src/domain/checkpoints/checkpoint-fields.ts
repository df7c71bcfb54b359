// Reads state files: JSON into typed values, as Go's decoder does it. Keys match case-insensitively without an exact match
// (older kubelets wrote `defaultCPUSet`), a null leaves a plain value at zero, and a value of the wrong type makes the file unreadable.
// Invariant: `readJson` returns only a value or the reason of the failure.

export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

class Unreadable extends Error {}

/** Runs `read` on the parsed text. Bad JSON and wrong types are answers. */
export function readJson<T>(text: string, read: (value: unknown) => T): Read<T> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
  try {
    return { ok: true, value: read(parsed) };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, error: error.message };
    throw error;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** An object's fields; null counts as an object without any. */
export function fieldsOf(value: unknown, what: string): Fields {
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new Unreadable(`cannot unmarshal ${kindOf(value)} into ${what}`);
  return value as Fields;
}

/** undefined if absent. */
export function field(fields: Fields, name: string): unknown {
  if (Object.hasOwn(fields, name)) return fields[name];
  const lower = name.toLowerCase();
  const key = Object.keys(fields).find((candidate) => candidate.toLowerCase() === lower);
  return key === undefined ? undefined : fields[key];
}

export function textField(fields: Fields, name: string): string {
  const value = field(fields, name) ?? '';
  if (typeof value !== 'string') throw new Unreadable(`cannot unmarshal ${kindOf(value)} into field ${name} of type string`);
  return value;
}

/** An unsigned integer. */
export function numberField(fields: Fields, name: string): number {
  return wholeNumber(field(fields, name) ?? 0, name);
}

export function wholeNumber(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw new Unreadable(`cannot unmarshal ${kindOf(value)} into field ${what} of an unsigned type`);
  return value;
}

/** `absent` for a missing field; null for null, since Go distinguishes nil from empty. */
export function mapField<T>(fields: Fields, name: string, absent: ReadonlyMap<string, T> | null, item: (value: unknown, key: string) => T): ReadonlyMap<string, T> | null {
  const value = field(fields, name);
  if (value === undefined) return absent;
  return mapOf(value, name, item);
}

export function mapOf<T>(value: unknown, what: string, item: (value: unknown, key: string) => T): ReadonlyMap<string, T> | null {
  if (value === null) return null;
  return new Map(Object.entries(fieldsOf(value, what)).map(([key, member]) => [key, item(member, key)]));
}

export function listField<T>(fields: Fields, name: string, absent: readonly T[] | null, item: (value: unknown) => T): readonly T[] | null {
  const value = field(fields, name);
  if (value === undefined) return absent;
  return listOf(value, name, item);
}

export function listOf<T>(value: unknown, what: string, item: (value: unknown) => T): readonly T[] | null {
  if (value === null) return null;
  if (!Array.isArray(value)) throw new Unreadable(`cannot unmarshal ${kindOf(value)} into field ${what} of a list type`);
  return value.map((member: unknown) => item(member));
}

export function textOf(value: unknown): string {
  if (value === null) return '';
  if (typeof value !== 'string') throw new Unreadable(`cannot unmarshal ${kindOf(value)} into a value of type string`);
  return value;
}

/** Gives up on the file, for reasons of the caller's own. */
export function unreadable(reason: string): never {
  throw new Unreadable(reason);
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
}
