// JSON text to plain values, where JSON.parse loses what matters: repeated keys and the last digits of 64-bit integers.
// Invariant: accepts exactly what RFC 8259 does; one value, nothing after it.
import { childPath, DocumentError, type DuplicateKey, integerOf, maxDepth, type PlainMap, type PlainValue, setOwn } from './plain-value.js';

const number = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const space = /[ \t\n\r]*/y;
const words: readonly (readonly [string, PlainValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

export interface JsonText {
  readonly value: PlainValue;
  readonly duplicates: readonly { readonly key: string; readonly path: string; readonly offset: number }[];
}

/** Throws `DocumentError` with the place of the first mistake. */
export function parseJson(text: string): JsonText {
  const reader = new JsonReader(text);
  const value = reader.readValue('', 0);
  reader.skipSpace();
  if (reader.position < text.length) throw reader.unexpected('after top-level value');
  return { value, duplicates: reader.duplicates };
}

export type JsonDuplicate = Omit<DuplicateKey, 'line' | 'isMerged'> & { readonly offset: number };

class JsonReader {
  readonly duplicates: JsonDuplicate[] = [];
  position = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  readValue(path: string, depth: number): PlainValue {
    if (depth > maxDepth) throw new DocumentError('exceeded max depth', this.position);
    this.skipSpace();
    const first = this.text[this.position];
    if (first === '{') return this.readMap(path, depth);
    if (first === '[') return this.readList(path, depth);
    if (first === '"') return this.readString();
    for (const [word, value] of words) {
      if (!this.text.startsWith(word, this.position)) continue;
      this.position += word.length;
      return value;
    }
    return this.readNumber();
  }

  skipSpace(): void {
    this.match(space);
  }

  unexpected(where: string): DocumentError {
    const character = this.text[this.position];
    if (character === undefined) return new DocumentError('unexpected end of JSON input', this.position);
    return new DocumentError(`invalid character '${character}' ${where}`, this.position);
  }

  private readMap(path: string, depth: number): PlainMap {
    const map: PlainMap = {};
    const seen = new Set<string>();
    this.position++;
    this.skipSpace();
    if (this.take('}')) return map;
    for (;;) {
      this.skipSpace();
      const offset = this.position;
      const key = this.readString();
      this.skipSpace();
      if (!this.take(':')) throw this.unexpected('after object key');
      const at = childPath(path, key);
      if (seen.has(key)) this.duplicates.push({ key, path: at, offset });
      seen.add(key);
      setOwn(map, key, this.readValue(at, depth + 1));
      this.skipSpace();
      if (this.take('}')) return map;
      if (!this.take(',')) throw this.unexpected('after object key:value pair');
    }
  }

  private readList(path: string, depth: number): PlainValue[] {
    const list: PlainValue[] = [];
    this.position++;
    this.skipSpace();
    if (this.take(']')) return list;
    for (;;) {
      list.push(this.readValue(`${path}[${list.length}]`, depth + 1));
      this.skipSpace();
      if (this.take(']')) return list;
      if (!this.take(',')) throw this.unexpected('after array element');
    }
  }

  private readString(): string {
    const literal = this.match(string);
    if (literal === null) throw this.unexpected('looking for beginning of string');
    return JSON.parse(literal[0]) as string;
  }

  private readNumber(): number | bigint {
    const literal = this.match(number);
    if (literal === null) throw this.unexpected('looking for beginning of value');
    const isInteger = literal[1] === undefined && literal[2] === undefined;
    if (isInteger) return integerOf(BigInt(literal[0]));
    return Number(literal[0]);
  }

  private take(character: string): boolean {
    if (this.text[this.position] !== character) return false;
    this.position++;
    return true;
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text);
    if (found !== null) this.position = pattern.lastIndex;
    return found;
  }
}
