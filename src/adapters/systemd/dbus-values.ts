// D-Bus values as bytes and back, by their signature (D-Bus specification, "Type System" and "Marshaling").
//
// | type            | here                        | type      | here                                        |
// |-----------------|-----------------------------|-----------|---------------------------------------------|
// | y n q i u h d   | number                      | a, (...)  | array; `ay` is a Uint8Array                 |
// | x t             | bigint                      | {kv}      | [key, value] within an array                |
// | b, s o g        | boolean, string             | v         | { signature, value }                        |
//
// Invariant: nothing is read beyond the bytes that were given, and nothing nests deeper than the specification allows.
import { Buffer } from 'node:buffer';

export interface DbusVariant {
  readonly signature: string;
  readonly value: DbusValue;
}
export type DbusValue = number | bigint | boolean | string | Uint8Array | DbusVariant | readonly DbusValue[];

export interface DbusType {
  readonly code: string;
  /** Of an array, a struct, an entry of a dictionary. */
  readonly inner: readonly DbusType[];
}

/** Arrays in arrays, and structs in structs: as many of each (specification, "Valid Signatures"). */
const nestingMax = 32;
/** Of one array, in bytes. */
const arrayBytesMax = 64 * 1024 * 1024;
const basicCodes = 'ynqiuxtbdsogh';
const alignments: Readonly<Record<string, number>> = { y: 1, g: 1, v: 1, n: 2, q: 2, i: 4, u: 4, b: 4, h: 4, s: 4, o: 4, a: 4, x: 8, t: 8, d: 8, '(': 8, '{': 8 };

/** The peer's message, or one to be sent, is malformed. */
export class DbusFormatError extends Error {
  override readonly name = 'DbusFormatError';
}

const parsed = new Map<string, readonly DbusType[]>();
/** The cache of parsed signatures; this project's calls have a dozen. */
const parsedMax = 64;

/** The complete types of a signature. Throws DbusFormatError. */
function parseSignature(signature: string): readonly DbusType[] {
  const known = parsed.get(signature);
  if (known !== undefined) return known;
  if (signature.length > 255) throw new DbusFormatError('a signature of more than 255 characters');
  const types: DbusType[] = [];
  for (let at = 0; at < signature.length; ) {
    const { type, end } = parseType(signature, at, 0, 0);
    types.push(type);
    at = end;
  }
  if (parsed.size < parsedMax) parsed.set(signature, types);
  return types;
}

function parseType(signature: string, at: number, arrays: number, structs: number): { readonly type: DbusType; readonly end: number } {
  const code = signature.charAt(at);
  const bad = (): DbusFormatError => new DbusFormatError(`invalid signature ${JSON.stringify(signature)}`);
  if (arrays > nestingMax || structs > nestingMax) throw bad();
  if (code !== '' && (basicCodes.includes(code) || code === 'v')) return { type: { code, inner: [] }, end: at + 1 };
  if (code === 'a') {
    const element = signature.charAt(at + 1) === '{' ? parseEntry(signature, at + 1, arrays + 1, structs) : parseType(signature, at + 1, arrays + 1, structs);
    return { type: { code, inner: [element.type] }, end: element.end };
  }
  if (code !== '(') throw bad();
  const inner: DbusType[] = [];
  let end = at + 1;
  while (signature.charAt(end) !== ')') {
    const member = parseType(signature, end, arrays, structs + 1);
    inner.push(member.type);
    end = member.end;
  }
  if (inner.length === 0) throw bad();
  return { type: { code, inner }, end: end + 1 };
}

function parseEntry(signature: string, at: number, arrays: number, structs: number): { readonly type: DbusType; readonly end: number } {
  const key = parseType(signature, at + 1, arrays, structs + 1);
  const value = parseType(signature, key.end, arrays, structs + 1);
  if (!basicCodes.includes(key.type.code) || signature.charAt(value.end) !== '}') throw new DbusFormatError(`invalid signature ${JSON.stringify(signature)}`);
  return { type: { code: '{', inner: [key.type, value.type] }, end: value.end + 1 };
}

/** Writes little-endian bytes. Throws DbusFormatError for a value that isn't of its type. */
export class DbusWriter {
  private bytes: Buffer = Buffer.alloc(256);
  private length = 0;

  result(): Uint8Array {
    return new Uint8Array(this.bytes.subarray(0, this.length));
  }

  get size(): number {
    return this.length;
  }

  align(to: number): void {
    const at = this.room(-this.length & (to - 1));
    this.bytes.fill(0, at, this.length);
  }

  writeAll(signature: string, values: readonly DbusValue[]): void {
    const types = parseSignature(signature);
    if (types.length !== values.length) throw new DbusFormatError(`${values.length} values for the signature ${JSON.stringify(signature)}`);
    for (const [i, type] of types.entries()) this.write(type, values[i]!);
  }

  raw(bytes: Uint8Array): void {
    const at = this.room(bytes.length);
    this.bytes.set(bytes, at);
  }

  private write(type: DbusType, value: DbusValue): void {
    this.align(alignments[type.code]!);
    switch (type.code) {
      case 's':
      case 'o':
        this.text(expectString(value), 4);
        break;
      case 'g':
        this.text(expectString(value), 1);
        break;
      case 'v': {
        const variant = expectVariant(value);
        this.text(variant.signature, 1);
        this.writeAll(variant.signature, [variant.value]);
        break;
      }
      case 'a':
        this.array(type.inner[0]!, value);
        break;
      case '(':
      case '{':
        this.members(type.inner, expectArray(value));
        break;
      default:
        this.number(type.code, value);
    }
  }

  private members(types: readonly DbusType[], values: readonly DbusValue[]): void {
    if (values.length !== types.length) throw new DbusFormatError(`${values.length} members for a struct of ${types.length}`);
    for (const [i, type] of types.entries()) this.write(type, values[i]!);
  }

  private number(code: string, value: DbusValue): void {
    try {
      this.fixed(code, value);
    } catch (error) {
      if (error instanceof RangeError || error instanceof TypeError) throw new DbusFormatError(`${String(value)} is no value of type ${code}`);
      throw error;
    }
  }

  private fixed(code: string, value: DbusValue): void {
    if (code === 'b' ? typeof value !== 'boolean' : typeof value !== (code === 'x' || code === 't' ? 'bigint' : 'number')) throw new TypeError(code);
    const at = this.room(alignments[code]!);
    if (code === 'y') this.bytes.writeUInt8(value as number, at);
    else if (code === 'n') this.bytes.writeInt16LE(value as number, at);
    else if (code === 'q') this.bytes.writeUInt16LE(value as number, at);
    else if (code === 'i') this.bytes.writeInt32LE(value as number, at);
    else if (code === 'x') this.bytes.writeBigInt64LE(value as bigint, at);
    else if (code === 't') this.bytes.writeBigUInt64LE(value as bigint, at);
    else if (code === 'd') this.bytes.writeDoubleLE(value as number, at);
    else this.bytes.writeUInt32LE(Number(value), at);
  }

  private text(text: string, lengthBytes: 1 | 4): void {
    const bytes = Buffer.from(text, 'utf8');
    if (bytes.includes(0)) throw new DbusFormatError('a text with a zero in it');
    if (lengthBytes === 1 && bytes.length > 255) throw new DbusFormatError('a signature of more than 255 characters');
    const at = this.room(lengthBytes + bytes.length + 1);
    if (lengthBytes === 1) this.bytes.writeUInt8(bytes.length, at);
    else this.bytes.writeUInt32LE(bytes.length, at);
    this.bytes.set(bytes, at + lengthBytes);
    this.bytes[this.length - 1] = 0;
  }

  private array(element: DbusType, value: DbusValue): void {
    const lengthAt = this.room(4);
    this.align(alignments[element.code]!);
    const start = this.length;
    if (value instanceof Uint8Array && element.code === 'y') this.raw(value);
    else for (const item of expectArray(value)) this.write(element, item);
    if (this.length - start > arrayBytesMax) throw new DbusFormatError('an array of more than 64 MiB');
    this.bytes.writeUInt32LE(this.length - start, lengthAt);
  }

  /** The position of the next bytes. May replace the buffer. */
  private room(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.bytes.length) {
      const larger = Buffer.alloc(Math.max(this.length, this.bytes.length * 2));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    return at;
  }
}

/** Reads either order of bytes. Throws DbusFormatError for bytes that aren't of their type. */
export class DbusReader {
  private at: number;
  private nesting = 0;

  /** @param start where in `bytes` it begins; alignment counts from the beginning of `bytes` */
  constructor(
    private readonly bytes: Buffer,
    private readonly littleEndian: boolean,
    start = 0,
  ) {
    this.at = start;
  }

  readAll(signature: string): DbusValue[] {
    return parseSignature(signature).map((type) => this.read(type));
  }

  get offset(): number {
    return this.at;
  }

  align(to: number): void {
    this.take(-this.at & (to - 1));
  }

  private read(type: DbusType): DbusValue {
    this.align(alignments[type.code]!);
    switch (type.code) {
      case 's':
      case 'o':
        return this.text(this.uint32());
      case 'g':
        return this.text(this.bytes.readUInt8(this.take(1)));
      case 'v':
        return this.variant();
      case 'a':
        return this.array(type.inner[0]!);
      case '(':
      case '{':
        return type.inner.map((member) => this.read(member));
      case 'b':
        return this.uint32() !== 0;
      default:
        return this.number(type.code);
    }
  }

  private number(code: string): number | bigint {
    const at = this.take(alignments[code]!);
    const { bytes, littleEndian: little } = this;
    if (code === 'y') return bytes.readUInt8(at);
    if (code === 'n') return little ? bytes.readInt16LE(at) : bytes.readInt16BE(at);
    if (code === 'q') return little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);
    if (code === 'i') return little ? bytes.readInt32LE(at) : bytes.readInt32BE(at);
    if (code === 'x') return little ? bytes.readBigInt64LE(at) : bytes.readBigInt64BE(at);
    if (code === 't') return little ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at);
    if (code === 'd') return little ? bytes.readDoubleLE(at) : bytes.readDoubleBE(at);
    return little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
  }

  private uint32(): number {
    return this.number('u') as number;
  }

  private text(length: number): string {
    const at = this.take(length + 1);
    return this.bytes.toString('utf8', at, at + length);
  }

  private variant(): DbusVariant {
    const signature = this.text(this.bytes.readUInt8(this.take(1)));
    const types = parseSignature(signature);
    // A variant in a variant is in no signature, so it is counted here.
    this.nesting++;
    if (types.length !== 1 || this.nesting > nestingMax) throw new DbusFormatError(`a variant of the signature ${JSON.stringify(signature)}`);
    const value = this.read(types[0]!);
    this.nesting--;
    return { signature, value };
  }

  private array(element: DbusType): DbusValue {
    const length = this.uint32();
    if (length > arrayBytesMax) throw new DbusFormatError('an array of more than 64 MiB');
    this.align(alignments[element.code]!);
    const start = this.at;
    const end = start + length;
    if (element.code === 'y') return new Uint8Array(this.bytes.subarray(this.take(length), end));
    const items: DbusValue[] = [];
    while (this.at < end) items.push(this.read(element));
    if (this.at !== end) throw new DbusFormatError('an array that ends within an element');
    return items;
  }

  private take(count: number): number {
    const at = this.at;
    this.at += count;
    if (this.at > this.bytes.length) throw new DbusFormatError('a message that ends within a value');
    return at;
  }
}

function expectString(value: DbusValue): string {
  if (typeof value !== 'string') throw new DbusFormatError(`${String(value)} is no text`);
  return value;
}

function expectArray(value: DbusValue): readonly DbusValue[] {
  if (!Array.isArray(value)) throw new DbusFormatError('no array');
  return value;
}

function expectVariant(value: DbusValue): DbusVariant {
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof Uint8Array) throw new DbusFormatError('no variant');
  return value as DbusVariant;
}
