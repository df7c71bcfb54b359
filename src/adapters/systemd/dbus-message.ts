// D-Bus messages as bytes and back (D-Bus specification, "Message Format").
// Invariant: a returned message is complete; malformed input is an error that ends the connection, never a guess.
import { Buffer } from 'node:buffer';
import { DbusFormatError, DbusReader, type DbusValue, type DbusVariant, DbusWriter } from './dbus-values.js';

export type DbusMessageKind = 'call' | 'reply' | 'error' | 'signal';

export interface DbusMessage {
  readonly kind: DbusMessageKind;
  readonly serial: number;
  /** The call that a reply or error answers. */
  readonly replySerial: number | null;
  readonly path: string | null;
  readonly interface: string | null;
  readonly member: string | null;
  readonly errorName: string | null;
  readonly destination: string | null;
  readonly sender: string | null;
  readonly signature: string;
  readonly body: readonly DbusValue[];
}

const kinds: readonly DbusMessageKind[] = ['call', 'reply', 'error', 'signal'];
/** Header fields by their code. */
const fields = {
  path: [1, 'o'],
  interface: [2, 's'],
  member: [3, 's'],
  errorName: [4, 's'],
  replySerial: [5, 'u'],
  destination: [6, 's'],
  sender: [7, 's'],
  signature: [8, 'g'],
} as const;
const littleEndian = 'l'.charCodeAt(0);
const bigEndian = 'B'.charCodeAt(0);
const protocolVersion = 1;
/** Up to and with the length of the array of header fields. */
const fixedBytes = 16;
/** The specification allows 128 MiB; messages of systemd and logind have some hundred bytes. */
const messageBytesMax = 16 * 1024 * 1024;

/** A message that is about to be sent; what isn't named is not in it. */
export type OutgoingMessage = Pick<DbusMessage, 'kind' | 'serial'> & Partial<DbusMessage>;

export function encodeMessage(message: OutgoingMessage): Uint8Array {
  const signature = message.signature ?? '';
  const body = new DbusWriter();
  body.writeAll(signature, message.body ?? []);
  const headerFields: DbusValue[] = [];
  for (const [name, [code, type]] of Object.entries(fields)) {
    const value = message[name as keyof typeof fields] ?? null;
    if (value !== null && value !== '') headerFields.push([code, { signature: type, value }]);
  }
  const header = new DbusWriter();
  header.writeAll('yyyyuua(yv)', [littleEndian, kinds.indexOf(message.kind) + 1, 0, protocolVersion, body.size, message.serial, headerFields]);
  header.align(8);
  header.raw(body.result());
  return header.result();
}

/** The first message of `bytes`, and its length; null while it is incomplete. Throws DbusFormatError. */
export function decodeMessage(bytes: Buffer): { readonly message: DbusMessage; readonly length: number } | null {
  if (bytes.length < fixedBytes) return null;
  const order = bytes[0];
  if (order !== littleEndian && order !== bigEndian) throw new DbusFormatError('a message of an unknown order of bytes');
  const little = order === littleEndian;
  const uint32 = (at: number): number => (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const headerEnd = fixedBytes + uint32(12);
  const bodyStart = headerEnd + (-headerEnd & 7);
  const length = bodyStart + uint32(4);
  if (length > messageBytesMax) throw new DbusFormatError(`a message of ${length} bytes, more than ${messageBytesMax}`);
  if (bytes.length < length) return null;
  const kind = kinds[bytes[1]! - 1];
  if (kind === undefined || bytes[3] !== protocolVersion) throw new DbusFormatError('a message of an unknown kind or version');
  const header = new DbusReader(bytes.subarray(0, headerEnd), little, 12).readAll('a(yv)')[0] as readonly (readonly [number, DbusVariant])[];
  const text = (code: number): string | null => fieldOf(header, code, 'string') as string | null;
  const signature = text(fields.signature[0]) ?? '';
  // Alignment counts from the beginning of the message; the body begins at a multiple of 8, so it may count from there.
  const body = new DbusReader(Buffer.from(bytes.subarray(bodyStart, length)), little).readAll(signature);
  const message: DbusMessage = {
    kind,
    serial: uint32(8),
    replySerial: fieldOf(header, fields.replySerial[0], 'number') as number | null,
    path: text(fields.path[0]),
    interface: text(fields.interface[0]),
    member: text(fields.member[0]),
    errorName: text(fields.errorName[0]),
    destination: text(fields.destination[0]),
    sender: text(fields.sender[0]),
    signature,
    body,
  };
  return { message, length };
}

function fieldOf(header: readonly (readonly [number, DbusVariant])[], code: number, type: 'string' | 'number'): DbusValue | null {
  const found = header.find(([one]) => one === code);
  if (found === undefined) return null;
  if (typeof found[1].value !== type) throw new DbusFormatError(`a header field ${code} that is no ${type}`);
  return found[1].value;
}
