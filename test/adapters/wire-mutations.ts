// Encoded messages of protobuf in which one field, at any depth, is gone, empty, of another wire type, far too large or repeated, or that end early.

interface Field {
  readonly number: number;
  readonly wireType: number;
  /** Of the whole field, with its tag. */
  readonly start: number;
  readonly end: number;
  /** Of its value; of a length-delimited one without the length. */
  readonly from: number;
}

function readVarint(bytes: Buffer, at: number): { readonly value: bigint; readonly end: number } | null {
  let value = 0n;
  for (let i = 0; i < 10; i++) {
    const byte = bytes[at + i];
    if (byte === undefined) return null;
    value |= BigInt(byte & 0x7f) << BigInt(7 * i);
    if (byte < 0x80) return { value, end: at + i + 1 };
  }
  return null;
}

export function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/** null: it is no message. */
function fieldsOf(bytes: Buffer): readonly Field[] | null {
  const fields: Field[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = readVarint(bytes, at);
    if (tag === null || tag.value >> 3n === 0n || tag.value > 0xffffn) return null;
    const [number, wireType] = [Number(tag.value >> 3n), Number(tag.value & 7n)];
    let [from, end] = [tag.end, tag.end];
    if (wireType === 0) end = readVarint(bytes, from)?.end ?? Number.POSITIVE_INFINITY;
    else if (wireType === 2) {
      const length = readVarint(bytes, from);
      if (length === null) return null;
      from = length.end;
      end = from + Number(length.value);
    } else return null;
    if (end > bytes.length) return null;
    fields.push({ number, wireType, start: at, end, from });
    at = end;
  }
  return fields;
}

function encoded(number: number, wireType: number, value: Buffer): Buffer {
  const tag = varint(BigInt(number * 8 + wireType));
  return wireType === 2 ? Buffer.concat([tag, varint(BigInt(value.length)), value]) : Buffer.concat([tag, value]);
}

const depthMax = 8;
const long = Buffer.alloc(200_000, 'x');

/** Names what is changed, by field numbers: `2.1 empty`. Every message differs from the given one in one place. */
export function* wireMutations(bytes: Buffer, path = '', depth = 0): Generator<readonly [name: string, bytes: Buffer]> {
  const fields = fieldsOf(bytes);
  if (fields === null || depth > depthMax) return;
  if (bytes.length > 1 && depth === 0) yield ['cut off', bytes.subarray(0, bytes.length - 1)];
  for (const { number, wireType, start, end, from } of fields) {
    const name = path === '' ? String(number) : `${path}.${number}`;
    const replaced = (field: Buffer): Buffer => Buffer.concat([bytes.subarray(0, start), field, bytes.subarray(end)]);
    const value = bytes.subarray(from, end);
    yield [`${name} absent`, replaced(Buffer.alloc(0))];
    yield [`${name} of another wire type`, replaced(encoded(number, 5, Buffer.alloc(4, 0xff)))];
    yield [`${name} repeated`, replaced(Buffer.concat(Array.from({ length: 100 }, () => bytes.subarray(start, end))))];
    if (wireType === 0) {
      for (const number64 of [0n, 1n, 2n ** 31n - 1n, 2n ** 63n - 1n, 2n ** 64n - 1n]) yield [`${name} is ${number64}`, replaced(encoded(number, 0, varint(number64)))];
      continue;
    }
    yield [`${name} empty`, replaced(encoded(number, 2, Buffer.alloc(0)))];
    yield [`${name} long`, replaced(encoded(number, 2, long))];
    yield [`${name} no UTF-8`, replaced(encoded(number, 2, Buffer.from([0xff, 0xfe, 0x00])))];
    // What reads as a message may be a text by chance: no harm is done by changing it within.
    for (const [inner, changed] of wireMutations(value, name, depth + 1)) yield [inner, replaced(encoded(number, 2, changed))];
  }
}
