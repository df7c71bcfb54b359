// Messages on a stream of gRPC: each has five bytes before it, whether it is compressed and how long it is (PROTOCOL-HTTP2.md).
// Invariant: a message that is too long is refused by its length, before its bytes have come.
import { GrpcFailure, grpcStatus } from './status.js';

const prefixBytes = 5;

/** A message with its prefix, in one buffer. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}

export class FrameReader {
  private chunks: Buffer[] = [];
  private bytes = 0;
  /** Length of the message that is coming; null: its prefix isn't whole yet. */
  private length: number | null = null;

  constructor(private readonly messageBytesMax: number) {}

  /** Whether a message is incomplete. */
  get isWithin(): boolean {
    return this.bytes > 0 || this.length !== null;
  }

  /** The messages that are whole with this chunk. Throws GrpcFailure. */
  take(chunk: Buffer): Buffer[] {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    const messages: Buffer[] = [];
    for (;;) {
      if (this.length === null) {
        if (this.bytes < prefixBytes) return messages;
        this.length = this.prefix(this.cut(prefixBytes));
      }
      if (this.bytes < this.length) return messages;
      messages.push(this.cut(this.length));
      this.length = null;
    }
  }

  private prefix(bytes: Buffer): number {
    if (bytes[0] !== 0) throw new GrpcFailure(grpcStatus.INTERNAL, 'grpc: compressed flag set with identity or empty encoding');
    const length = bytes.readUInt32BE(1);
    if (length > this.messageBytesMax) {
      throw new GrpcFailure(grpcStatus.RESOURCE_EXHAUSTED, `grpc: received message larger than max (${length} vs. ${this.messageBytesMax})`);
    }
    return length;
  }

  /** The next bytes, joined; a message within one chunk is not copied. */
  private cut(count: number): Buffer {
    const [first] = this.chunks;
    const whole = this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks);
    this.bytes -= count;
    this.chunks = this.bytes === 0 ? [] : [whole.subarray(count)];
    return whole.subarray(0, count);
  }
}
