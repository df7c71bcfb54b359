// Headers of SPDY/3 (SPDY Protocol, draft 3, 2.6.10): names and values, compressed as one stream of zlib for a connection and direction.
//
// Output is not compressed: the stream consists of stored blocks, which any reader accepts, and so keeps no state between two frames and
// reveals no secret's length. Input continues from the last 32 KiB, which is all that a compressor may refer to;
// by the protocol each frame's part ends at a byte (SYNC_FLUSH).
// Invariants: a block that unpacks to more than `headerBytesMax` is refused, before it is unpacked; names are lower case, each once.
import { constants, inflateRawSync } from 'node:zlib';
import { spdyDictionary, spdyDictionaryId } from './spdy-dictionary.js';
import { SpdyProtocolError } from './spdy-frames.js';

export type SpdyHeaders = ReadonlyMap<string, string>;

export const headerBytesMax = 16 * 1024;
/** How far back a compressor may look. */
const windowBytes = 32 * 1024;
/** zlib's own: the method and window, a check with the flag for a dictionary, and the dictionary's sum. */
const streamHead = (() => {
  const head = Buffer.from([0x78, 0xbb, 0, 0, 0, 0]);
  head.writeUInt32BE(spdyDictionaryId, 2);
  return head;
})();
/** An empty stored block: makes readers emit everything before it. */
const flush = Buffer.from([0, 0, 0, 0xff, 0xff]);
const storedHeadBytes = 5;

export class SpdyHeaderWriter {
  private begun = false;

  block(headers: Readonly<Record<string, string>>): Buffer {
    const texts = Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
    const plain = Buffer.concat([number(texts.length / 2), ...texts.flatMap((text) => [number(Buffer.byteLength(text)), Buffer.from(text)])]);
    if (plain.length > headerBytesMax) throw new RangeError(`headers of ${plain.length} bytes; ${headerBytesMax} can be sent`);
    const stored = Buffer.alloc(storedHeadBytes);
    stored.writeUInt16LE(plain.length, 1);
    stored.writeUInt16LE(0xffff - plain.length, 3);
    const parts = this.begun ? [stored, plain, flush] : [streamHead, stored, plain, flush];
    this.begun = true;
    return Buffer.concat(parts);
  }
}

export class SpdyHeaderReader {
  private window: Buffer | null = null;

  /** Throws SpdyProtocolError. */
  headers(block: Buffer): SpdyHeaders {
    let packed = block;
    if (this.window === null) {
      const [method = 0, flags = 0] = block;
      const isStream = (method & 0x0f) === 8 && (method * 0x100 + flags) % 31 === 0 && (flags & 0x20) !== 0;
      if (block.length < streamHead.length || !isStream || block.readUInt32BE(2) !== spdyDictionaryId)
        throw new SpdyProtocolError('headers that do not begin as the protocol says');
      packed = block.subarray(streamHead.length);
      this.window = spdyDictionary;
    }
    const plain = unpacked(packed, this.window);
    this.window = Buffer.concat([this.window, plain]).subarray(-windowBytes);
    return readHeaders(plain);
  }
}

function unpacked(packed: Buffer, dictionary: Buffer): Buffer {
  try {
    return inflateRawSync(packed, { dictionary, finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: headerBytesMax });
  } catch (error) {
    throw new SpdyProtocolError(`headers that can't be unpacked: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readHeaders(plain: Buffer): SpdyHeaders {
  const headers = new Map<string, string>();
  let at = 0;
  const next = (): number => {
    if (at + 4 > plain.length) throw new SpdyProtocolError('headers that end too early');
    at += 4;
    return plain.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = next();
    if (at + length > plain.length) throw new SpdyProtocolError('a header that is longer than its frame');
    at += length;
    return plain.toString('utf8', at - length, at);
  };
  for (let count = next(); count > 0; count--) {
    const name = text();
    if (name === '' || name !== name.toLowerCase()) throw new SpdyProtocolError('a header whose name is empty or not in lower case');
    if (headers.has(name)) throw new SpdyProtocolError('a header that comes twice');
    headers.set(name, text());
  }
  if (at !== plain.length) throw new SpdyProtocolError('bytes after the headers');
  return headers;
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
