// One stream of a SPDY connection, as a Node duplex: writes become data frames, the end of writing the last one, and destroying it
// before both directions have ended a reset.
// Invariants: data from before a reset, or before the connection's end, stays readable, even if writes fail; a stream never
// emits an error without a listener; a reader of a broken stream sees 'close' without 'end'.
import { Duplex } from 'node:stream';
import type { SpdyHeaders } from './spdy-headers.js';

/** A stream's interface to its connection. */
export interface StreamCarrier {
  send(stream: SpdyStream, bytes: Buffer, done: (error?: Error | null) => void): void;
  sendEnd(stream: SpdyStream, done: (error?: Error | null) => void): void;
  /** The read data leaves room for more. */
  consumed(stream: SpdyStream): void;
  /** The stream has ended. @param broken one direction was still open */
  forget(stream: SpdyStream, broken: boolean): void;
}

/** The initial window of a stream: SPDY's own default. */
export const windowBytes = 64 * 1024;

export class SpdyStream extends Duplex {
  /** Read, but not yet granted again to the peer. */
  unacknowledged = 0;
  /** The peer's window for this side. */
  sendWindow: number = windowBytes;
  /** The peer will send nothing more. */
  peerEnded = false;
  peerReset = false;
  /** The unsent part of a write, until the peer's window allows it. */
  waiting: { readonly bytes: Buffer; readonly done: (error?: Error | null) => void } | null = null;
  /** Ends a write that the socket has not taken yet. */
  undrained: ((error?: Error | null) => void) | null = null;
  /** No more traffic, but received data may still be read. */
  isLost = false;
  private sentEnd = false;

  constructor(
    readonly id: number,
    readonly headers: SpdyHeaders,
    private readonly carrier: StreamCarrier,
  ) {
    // One more than the window: a peer that keeps to it never stops the connection.
    super({ allowHalfOpen: true, readableHighWaterMark: windowBytes + 1, writableHighWaterMark: windowBytes });
    this.on('error', () => {});
  }

  /** What comes is pushed; nothing is fetched. */
  override _read(): void {}

  /** Every reader takes its bytes here, except for those that are passed on directly. */
  override read(size?: number): Buffer | null {
    const bytes = super.read(size) as Buffer | null;
    if (bytes !== null) this.carrier.consumed(this);
    if (this.isLost && this.readableLength === 0) process.nextTick(() => this.destroy());
    return bytes;
  }

  /** Its connection has ended, or the peer has reset it. */
  lose(): void {
    this.isLost = true;
    const [waiting, undrained] = [this.waiting?.done, this.undrained];
    this.waiting = null;
    this.undrained = null;
    const loss = this.lossForWriter();
    waiting?.(loss);
    undrained?.(loss);
    if (!this.isUnread()) this.destroy();
  }

  /** Why a write of a lost stream fails. null: it doesn't, as a failed write would discard unread data. */
  lossForWriter(): Error | null {
    return this.isUnread() ? null : new Error('the stream is closed');
  }

  /** The socket has accepted the write. */
  sent(): void {
    const { undrained } = this;
    this.undrained = null;
    undrained?.();
  }

  /** Bytes, or their end. */
  private isUnread(): boolean {
    return this.readableLength > 0 || (this.peerEnded && !this.readableEnded && !this.destroyed);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.carrier.send(this, chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.sentEnd = true;
    this.carrier.sendEnd(this, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const { waiting, undrained } = this;
    this.waiting = null;
    this.undrained = null;
    const closed = new Error('the stream is closed');
    waiting?.done(closed);
    undrained?.(closed);
    this.carrier.forget(this, !this.peerReset && !(this.peerEnded && this.sentEnd));
    done(error);
  }
}
