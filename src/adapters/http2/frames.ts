// Frames of HTTP/2 (RFC 9113, section 4): encoded, and split from received bytes.
// Invariant: a frame longer than the announced maximum is refused by its length, before its bytes have arrived.

export const frameType = { data: 0, headers: 1, priority: 2, rstStream: 3, settings: 4, pushPromise: 5, ping: 6, goaway: 7, windowUpdate: 8, continuation: 9 } as const;
export const flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;
export const http2Error = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;
export const setting = { enablePush: 2, maxConcurrentStreams: 3, initialWindowSize: 4, maxFrameSize: 5 } as const;

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const headBytes = 9;
/** The longest payload that either side accepts by default. */
export const defaultFrameBytes = 16_384;
/** The default window of a stream and of a connection. */
export const defaultWindowBytes = 65_535;

/** A protocol violation of the peer; the connection ends with this code. */
export class Http2ProtocolError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  /** Valid until the receiving call returns. */
  readonly payload: Buffer;
}

/** Writes a frame's head; the caller writes the payload after it. */
export function writeHead(into: Buffer, at: number, length: number, type: number, flags: number, stream: number): void {
  into.writeUIntBE(length, at, 3);
  into[at + 3] = type;
  into[at + 4] = flags;
  into.writeUInt32BE(stream, at + 5);
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + payload.length);
  writeHead(bytes, 0, payload.length, type, flags, stream);
  bytes.set(payload, headBytes);
  return bytes;
}

export function settingsFrame(settings: readonly (readonly [name: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(6 * settings.length);
  settings.forEach(([name, value], i) => {
    payload.writeUInt16BE(name, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  });
  return frame(frameType.settings, 0, 0, payload);
}

/** Frames with one number: RST_STREAM and WINDOW_UPDATE. */
export function numberFrame(type: number, stream: number, value: number): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + 4);
  writeHead(bytes, 0, 4, type, 0, stream);
  bytes.writeUInt32BE(value, headBytes);
  return bytes;
}

export class FrameSplitter {
  private rest: Buffer | null = null;

  /** Passes each complete frame to `take`, until that returns false. Throws Http2ProtocolError. */
  split(chunk: Buffer, take: (frame: Frame) => boolean): void {
    const bytes = this.rest === null ? chunk : Buffer.concat([this.rest, chunk]);
    this.rest = null;
    let at = 0;
    while (bytes.length - at >= headBytes) {
      const length = bytes.readUIntBE(at, 3);
      if (length > defaultFrameBytes) throw new Http2ProtocolError(http2Error.frameSizeError, `a frame of ${length} bytes`);
      const end = at + headBytes + length;
      if (end > bytes.length) break;
      const stream = bytes.readUInt32BE(at + 5) & 0x7f_ff_ff_ff;
      const isWanted = take({ type: bytes[at + 3] as number, flags: bytes[at + 4] as number, stream, payload: bytes.subarray(at + headBytes, end) });
      if (!isWanted) return;
      at = end;
    }
    if (at < bytes.length) this.rest = at === 0 ? bytes : bytes.subarray(at);
  }
}

/** Something that HTTP/2 doesn't allow. */
export function violation(message: string): Http2ProtocolError {
  return new Http2ProtocolError(http2Error.protocolError, message);
}

/** The number that a frame carries, whose length was checked. */
export function numberOf(payload: Buffer): number {
  return payload.readUInt32BE(0);
}

/** The payload without its padding and the `skipped` bytes before it. */
export function unpadded({ flags, payload }: Frame, skipped: number): Buffer {
  const isPadded = (flags & flag.padded) !== 0;
  const from = (isPadded ? 1 : 0) + skipped;
  const to = payload.length - (isPadded ? (payload[0] ?? 0) : 0);
  if (from > to) throw violation('more padding than payload');
  return isPadded || skipped > 0 ? payload.subarray(from, to) : payload;
}
