// The result of parsing: plain data, the same for YAML and JSON.
// Invariant: integers keep every digit (a bigint beyond 2^53); maps are ordinary objects whose own keys are the document's, `__proto__` included.

export type PlainValue = null | boolean | number | bigint | string | PlainValue[] | PlainMap;

export interface PlainMap {
  [key: string]: PlainValue;
}

/** A key that occurred twice in one map. */
export interface DuplicateKey {
  readonly key: string;
  /** The parent keys and list positions, as `a.b[0].key`; a JSON decoder's form. */
  readonly path: string;
  /** 1-based line of the later value; a YAML decoder's form. */
  readonly line: number;
  /** One of the two values came from a merge key, which may be overridden. */
  readonly isMerged: boolean;
}

export interface ParsedDocument {
  readonly ok: true;
  readonly format: 'json' | 'yaml';
  /** null for an empty document; the last of several values of one key. */
  readonly value: PlainValue;
  /** In order of occurrence. The caller decides whether they matter. */
  readonly duplicateKeys: readonly DuplicateKey[];
}

export interface RefusedDocument {
  readonly ok: false;
  readonly message: string;
  /** 1-based; 0 when the mistake is no single place (size, encoding). */
  readonly line: number;
  readonly column: number;
}

/** Raised inside the parsers, turned into a `RefusedDocument` by `parseYaml`. */
export class DocumentError extends Error {
  /** The position in the text, in UTF-16 units; null without a single place. */
  readonly offset: number | null;

  constructor(message: string, offset: number | null) {
    super(message);
    this.name = 'DocumentError';
    this.offset = offset;
  }
}

/** Nesting beyond this is refused, as Go's decoders do. */
export const maxDepth = 10_000;

/** Sets an own property of any name. */
export function setOwn(map: PlainMap, key: string, value: PlainValue): void {
  if (key === '__proto__') Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  else map[key] = value;
}

/** Numbers where they are exact, bigint beyond. */
export function integerOf(digits: bigint): number | bigint {
  return digits >= BigInt(Number.MIN_SAFE_INTEGER) && digits <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(digits) : digits;
}

export function childPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
