// Frames of SPDY/3.1 as bytes (SPDY Protocol, drafts 3 and 3.1, section 2.2 and 2.6).
// Invariant: a control frame is buffered up to `controlBytesMax`; data is passed on in the received pieces, so that
// a length that a peer only claims costs nothing.

export type SpdyFrame =
  | { readonly kind: 'data'; readonly streamId: number; readonly bytes: Buffer; readonly fin: boolean }
  | { readonly kind: 'syn-stream'; readonly streamId: number; readonly fin: boolean; readonly unidirectional: boolean; readonly block: Buffer }
  | { readonly kind: 'syn-reply' | 'headers'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly kind: 'rst-stream'; readonly streamId: number; readonly status: number }
  | { readonly kind: 'settings'; readonly values: ReadonlyMap<number, number> }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'goaway'; readonly lastStreamId: number; readonly status: number }
  | { readonly kind: 'window-update'; readonly streamId: number; readonly delta: number }
  | { readonly kind: 'unknown'; readonly type: number };

/** The peer violated the protocol: the connection ends. */
export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

export const controlBytesMax = 64 * 1024;
export const resetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
  flowControlError: 7,
  streamInUse: 8,
  streamAlreadyClosed: 9,
} as const;
export const goawayStatus = { ok: 0, protocolError: 1, internalError: 2 } as const;

const headBytes = 8;
const version = 3;
const types = { 'syn-stream': 1, 'syn-reply': 2, 'rst-stream': 3, settings: 4, ping: 6, goaway: 7, headers: 8, 'window-update': 9 } as const;
const finFlag = 1;
const unidirectionalFlag = 2;
const idMask = 0x7fff_ffff;
const lengthMask = 0xff_ffff;
const settingBytes = 8;

/** Reads as they come: a head, then either a whole control frame or data piece by piece. */
export class SpdyFrameReader {
  private kept: Buffer = Buffer.alloc(0);
  /** A data frame that is still coming. */
  private data: { readonly streamId: number; readonly fin: boolean; left: number } | null = null;

  /** Throws SpdyProtocolError. */
  *read(chunk: Buffer): Generator<SpdyFrame> {
    let bytes = this.kept.length === 0 ? chunk : Buffer.concat([this.kept, chunk]);
    this.kept = Buffer.alloc(0);
    for (;;) {
      if (this.data !== null) {
        const piece = bytes.subarray(0, this.data.left);
        if (piece.length === 0 && this.data.left > 0) return;
        bytes = bytes.subarray(piece.length);
        yield this.piece(this.data, piece);
        continue;
      }
      const length = bytes.length < headBytes ? 0 : bytes.readUInt32BE(4) & lengthMask;
      const isControl = bytes.length > 0 && ((bytes[0] as number) & 0x80) !== 0;
      if (isControl && length > controlBytesMax) throw new SpdyProtocolError(`a control frame of ${length} bytes`);
      if (bytes.length < headBytes || (isControl && bytes.length < headBytes + length)) {
        this.kept = Buffer.from(bytes);
        return;
      }
      if (isControl) yield controlFrame(bytes.subarray(0, headBytes + length));
      else this.data = { streamId: bytes.readUInt32BE(0), fin: ((bytes[4] as number) & finFlag) !== 0, left: length };
      bytes = bytes.subarray(headBytes + (isControl ? length : 0));
    }
  }

  private piece(data: { readonly streamId: number; readonly fin: boolean; left: number }, bytes: Buffer): SpdyFrame {
    data.left -= bytes.length;
    if (data.left === 0) this.data = null;
    return { kind: 'data', streamId: data.streamId, bytes, fin: data.fin && data.left === 0 };
  }
}

/** @param bytes a whole frame, its head included */
function controlFrame(bytes: Buffer): SpdyFrame {
  const spoken = bytes.readUInt16BE(0) & 0x7fff;
  if (spoken !== version) throw new SpdyProtocolError(`version ${spoken} of the protocol`);
  const type = bytes.readUInt16BE(2);
  const fin = ((bytes[4] as number) & finFlag) !== 0;
  const body = bytes.subarray(headBytes);
  const least = leastBytes.get(type);
  if (least === undefined) return { kind: 'unknown', type };
  if (body.length < least || (fixedTypes.has(type) && body.length !== least)) throw new SpdyProtocolError(`a frame of type ${type} of ${body.length} bytes`);
  const first = body.readUInt32BE(0) & idMask;
  switch (type) {
    case types['syn-stream']:
      return { kind: 'syn-stream', streamId: first, fin, unidirectional: ((bytes[4] as number) & unidirectionalFlag) !== 0, block: body.subarray(least) };
    case types['syn-reply']:
      return { kind: 'syn-reply', streamId: first, fin, block: body.subarray(least) };
    case types.headers:
      return { kind: 'headers', streamId: first, fin, block: body.subarray(least) };
    case types['rst-stream']:
      return { kind: 'rst-stream', streamId: first, status: body.readUInt32BE(4) };
    case types.ping:
      return { kind: 'ping', id: body.readUInt32BE(0) };
    case types.goaway:
      return { kind: 'goaway', lastStreamId: first, status: body.readUInt32BE(4) };
    case types['window-update']:
      return { kind: 'window-update', streamId: first, delta: body.readUInt32BE(4) & idMask };
    default:
      return settingsFrame(body);
  }
}

function settingsFrame(body: Buffer): SpdyFrame {
  const count = body.readUInt32BE(0);
  if (body.length !== 4 + count * settingBytes) throw new SpdyProtocolError(`${count} settings in ${body.length} bytes`);
  const values = new Map<number, number>();
  for (let at = 4; at < body.length; at += settingBytes) values.set(body.readUInt32BE(at) & lengthMask, body.readUInt32BE(at + 4));
  return { kind: 'settings', values };
}

/** The minimum after the head, without headers. */
const leastBytes: ReadonlyMap<number, number> = new Map([
  [types['syn-stream'], 10],
  [types['syn-reply'], 4],
  [types['rst-stream'], 8],
  [types.settings, 4],
  [types.ping, 4],
  [types.goaway, 8],
  [types.headers, 4],
  [types['window-update'], 8],
]);
const fixedTypes: ReadonlySet<number> = new Set([types['rst-stream'], types.ping, types.goaway, types['window-update']]);

/** @param fields numbers of 32 bits that follow the head */
function control(type: keyof typeof types, flags: number, fields: readonly number[], rest: Uint8Array = new Uint8Array()): Buffer {
  const frame = Buffer.alloc(headBytes + fields.length * 4 + rest.length);
  frame.writeUInt16BE(0x8000 | version, 0);
  frame.writeUInt16BE(types[type], 2);
  frame.writeUInt32BE(fields.length * 4 + rest.length, 4);
  frame[4] = flags;
  for (const [i, field] of fields.entries()) frame.writeUInt32BE(field >>> 0, headBytes + i * 4);
  frame.set(rest, headBytes + fields.length * 4);
  return frame;
}

/** Priority and slot are nothing to either end here: two bytes of zeros before the headers. */
export function synStreamFrame(streamId: number, block: Uint8Array): Buffer {
  return control('syn-stream', 0, [streamId, 0], Buffer.concat([Buffer.alloc(2), block]));
}

export function synReplyFrame(streamId: number, block: Uint8Array): Buffer {
  return control('syn-reply', 0, [streamId], block);
}

export function rstStreamFrame(streamId: number, status: number): Buffer {
  return control('rst-stream', 0, [streamId, status]);
}

export function pingFrame(id: number): Buffer {
  return control('ping', 0, [id]);
}

export function goawayFrame(lastStreamId: number, status: number): Buffer {
  return control('goaway', 0, [lastStreamId, status]);
}

export function windowUpdateFrame(streamId: number, delta: number): Buffer {
  return control('window-update', 0, [streamId, delta]);
}

/** The head alone; the data follow. */
export function dataHead(streamId: number, length: number, fin: boolean): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE(length, 4);
  head[4] = fin ? finFlag : 0;
  return head;
}
