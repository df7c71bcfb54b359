// The result of parsing: plain data, the same for YAML and JSON.
// Invariant: integers keep every digit (a bigint beyond 2^53); maps are ordinary objects whose own keys are the document's, `__proto__` included.

export type PlainValue = null | boolean | number | bigint | string | PlainValue[] | PlainMap;

export interface PlainMap {
  [key: string]: PlainValue;
}

/** A key that occurred twice in one map. */
export interface DuplicateKey {
  readonly key: string;
  /** The keys and list positions above, as `a.b[0].key`; what a JSON decoder names. */
  readonly path: string;
  /** 1-based line of the later value; what a YAML decoder names. */
  readonly line: number;
  /** One of the two values came in by a merge key, which is there to be overridden. */
  readonly isMerged: boolean;
}

export interface ParsedDocument {
  readonly ok: true;
  readonly format: 'json' | 'yaml';
  /** null for an empty document; the last of several values of one key. */
  readonly value: PlainValue;
  /** In the order met. The caller decides whether they matter. */
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
  /** Where in the text, in UTF-16 units; null when it is no single place. */
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
