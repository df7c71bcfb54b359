// Walks the items of a list answer without decoding them. Relists run once a second; of hundreds of containers nearly all are
// unchanged, and of those only the id and the state are read. (The answer's bytes differ each time anyway: runtimes send items
// and labels in random order.)
// Invariant: reads only what protobuf defines; malformed bytes end in an error, never in a wrong id.

/** The field numbers of the compared fields in the short form of a sandbox or container (`runtime.v1`). */
export interface ItemLayout {
  readonly stateField: number;
}
export const sandboxLayout: ItemLayout = { stateField: 3 };
export const containerLayout: ItemLayout = { stateField: 6 };

const varintType = 0;
const fixed64Type = 1;
const bytesType = 2;
const fixed32Type = 5;
const idField = 1;
/** Both list answers hold their items in field 1. */
const itemsTag = (1 << 3) | bytesType;

/** Calls `visit` with each item's id, state and place in `bytes`. Throws on malformed bytes. */
export function walkItems(bytes: Buffer, layout: ItemLayout, visit: (id: string, state: number, start: number, end: number) => void): void {
  const cursor: Cursor = { bytes, position: 0 };
  while (cursor.position < bytes.length) {
    const tag = readVarint(cursor);
    if (tag !== itemsTag) {
      skipField(cursor, tag & 7);
      continue;
    }
    const length = readVarint(cursor);
    const start = cursor.position;
    const end = start + length;
    if (end > bytes.length) throw new Error('list item reaches past the end of the answer');
    visitItem(cursor, layout, start, end, visit);
    cursor.position = end;
  }
}

function visitItem(cursor: Cursor, layout: ItemLayout, start: number, end: number, visit: (id: string, state: number, start: number, end: number) => void): void {
  let id = '';
  let state = 0;
  while (cursor.position < end) {
    const tag = readVarint(cursor);
    const field = tag >>> 3;
    if (field === idField && (tag & 7) === bytesType) {
      const length = readVarint(cursor);
      const from = cursor.position;
      cursor.position += length;
      if (cursor.position > end) throw new Error('id reaches past the end of its item');
      id = cursor.bytes.toString('latin1', from, cursor.position);
    } else if (field === layout.stateField && (tag & 7) === varintType) {
      state = readVarint(cursor);
    } else {
      skipField(cursor, tag & 7);
    }
  }
  if (cursor.position !== end) throw new Error('list item ends inside a field');
  visit(id, state, start, end);
}

interface Cursor {
  readonly bytes: Buffer;
  position: number;
}

/** The low 32 bits of a varint: enough for tags, lengths and enums; a longer one is read to its end. */
function readVarint(cursor: Cursor): number {
  let value = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = cursor.bytes[cursor.position++];
    if (byte === undefined) throw new Error('number is cut off');
    if (shift < 32) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value >>> 0;
  }
  throw new Error('number is too long');
}

function skipField(cursor: Cursor, wireType: number): void {
  switch (wireType) {
    case varintType:
      readVarint(cursor);
      return;
    case fixed64Type:
      cursor.position += 8;
      return;
    case bytesType: {
      const length = readVarint(cursor);
      cursor.position += length;
      return;
    }
    case fixed32Type:
      cursor.position += 4;
      return;
    default:
      throw new Error(`wire type ${wireType} is unknown`);
  }
}
