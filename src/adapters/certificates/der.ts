// ASN.1 DER, as far as certificates and certificate requests need it: written from the inside out, read one element at a time.
// Invariant: reading never exceeds the given bytes; malformed input throws.

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export function sequence(...items: readonly Uint8Array[]): Buffer {
  return element(tags.sequence, ...items);
}

/** A set's elements are in the order of their bytes. */
export function set(...items: readonly Uint8Array[]): Buffer {
  return element(tags.set, ...[...items].sort(Buffer.compare));
}

/** Context-specific, constructed: `[n]`. */
export function explicit(n: number, ...items: readonly Uint8Array[]): Buffer {
  return element(0xa0 | n, ...items);
}

/** A number that isn't negative, from its big-endian bytes. */
export function unsigned(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first));
  return element(tags.integer, (digits[0] as number) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), digits);
}

export function smallInteger(value: number): Buffer {
  return unsigned(Buffer.from([value]));
}

export function boolean(value: boolean): Buffer {
  return element(tags.boolean, Buffer.from([value ? 0xff : 0]));
}

/** e.g. `2.5.4.3`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return element(tags.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift(0x80 | (rest & 0x7f));
  return bytes;
}

/** @param unusedBits of the last byte */
export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return element(tags.bitString, Buffer.from([unusedBits]), bytes);
}

export function octetString(bytes: Uint8Array): Buffer {
  return element(tags.octetString, bytes);
}

/** The narrowest type that holds the text, as Go writes it. */
export function text(value: string): Buffer {
  return element(/^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value) ? tags.printableString : tags.utf8String, Buffer.from(value, 'utf8'));
}

/** Two digits of the year until 2049, as X.509 demands. */
export function time(millis: number): Buffer {
  const digits = new Date(millis)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  const isShort = digits < '2050';
  return element(isShort ? tags.utcTime : tags.generalizedTime, Buffer.from(isShort ? digits.slice(2) : digits, 'latin1'));
}

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content. */
  readonly whole: Buffer;
}

/** The elements that these bytes are, one after the other. */
export function elementsOf(bytes: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const read = elementAt(bytes, at);
    elements.push(read);
    at += read.whole.length;
  }
  return elements;
}

/** The content of a constructed element of that tag. */
export function within(element: Element | undefined, tag: number): Element[] {
  if (element?.tag !== tag) throw new Error(`DER: expected an element with tag ${tag}, found ${element === undefined ? 'none' : element.tag}`);
  return elementsOf(element.content);
}

function elementAt(bytes: Buffer, at: number): Element {
  const tag = bytes[at];
  const short = bytes[at + 1];
  if (tag === undefined || short === undefined) throw new Error('DER: truncated');
  const digits = short < 0x80 ? 0 : short & 0x7f;
  if (short === 0x80 || digits > 4) throw new Error("DER: a length that can't be");
  let length = digits === 0 ? short : 0;
  for (let digit = 0; digit < digits; digit++) length = length * 256 + (bytes[at + 2 + digit] ?? 0);
  const begin = at + 2 + digits;
  if (begin + length > bytes.length) throw new Error('DER: truncated');
  return { tag, content: bytes.subarray(begin, begin + length), whole: bytes.subarray(at, begin + length) };
}

/** The text of an element's object identifier. */
export function oidText({ tag, content }: Element): string {
  if (tag !== tags.oid) throw new Error('DER: expected an object identifier');
  const [first = 0, ...rest] = content;
  const arcs = [Math.min(2, Math.floor(first / 40)), first - 40 * Math.min(2, Math.floor(first / 40))];
  let arc = 0;
  for (const byte of rest) {
    arc = arc * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  return arcs.join('.');
}
