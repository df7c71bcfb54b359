// A SPDY/3.1 connection over an upgraded socket, from either side: streams with headers, resets, windows, pings, the end.
//
// Windows: Go's implementation (kubectl, kube-apiserver, kubelet, containerd) ignores windows and grants none, and closes
// its socket without reading received grants, which resets the connection and loses its last output. So sending respects windows only
// once the peer has used them; and windows are granted once it has, or once it has been silent for `grantMillis` within its window. A
// peer that exceeds its window before gets no grants; its whole socket is paused while one stream's reader is behind.
// Data sent before a stream's reset or the connection's end stays readable. A server closes its connection only after the client:
// closing with bytes unread resets a connection, and the client would lose its unread input.
// Invariants: at most a window and one chunk of the socket per stream are buffered; an invalid frame ends the connection with GOAWAY;
// the end of the connection ends its streams and resolves `closed`; a chunk adds no listener, no timer and no closure.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FrameWriter } from './frame-writer.js';
import {
  controlBytesMax,
  dataHead,
  goawayFrame,
  goawayStatus,
  pingFrame,
  resetStatus,
  rstStreamFrame,
  type SpdyFrame,
  SpdyFrameReader,
  SpdyProtocolError,
  synReplyFrame,
  synStreamFrame,
  windowUpdateFrame,
} from './spdy-frames.js';
import { SpdyHeaderReader, type SpdyHeaders, SpdyHeaderWriter } from './spdy-headers.js';
import { SpdyStream, type StreamCarrier, windowBytes } from './spdy-stream.js';

export interface SpdyConnectionOptions {
  readonly role: 'client' | 'server';
  /** Accepts or refuses a stream of the peer. If absent, all are refused. */
  readonly accept?: (stream: SpdyStream) => boolean;
  /** Open at once. */
  readonly streamsMax?: number;
  /** The time for the peer, after `close`, to read the output and to close. 4 hours for a server, as a stream may be idle; 5 seconds for a client. */
  readonly lingerMillis?: number;
  /** The socket, of a client whose server closes without waiting for it to read: writes wait while that may have happened. */
  readonly guarded?: Socket;
}

const defaultStreamsMax = 4_096;
export const unreadMillis = 4 * 3_600_000;
/** For a peer without pending output. */
const shortLingerMillis = 5_000;
const pieceBytes = 32 * 1024;
/** A peer that respects windows silently stalls this long, once. */
const grantMillis = 500;
const windowMax = 0x7fff_ffff;
const idMax = 0x7fff_ffff;
const initialWindowSetting = 7;
/** The limit of unread answers to a peer's requests. */
const unreadAnswersMax = 1024 * 1024 + controlBytesMax;

export class SpdyConnection implements StreamCarrier {
  readonly closed: Promise<void>;
  private readonly frames = new SpdyFrameReader();
  private readonly reader = new SpdyHeaderReader();
  private readonly writer = new SpdyHeaderWriter();
  private readonly streams = new Map<number, SpdyStream>();
  private readonly opening = new Map<number, { resolve(stream: SpdyStream): void; reject(error: Error): void }>();
  private readonly pings = new Map<number, () => void>();
  /** Whose readers are behind. */
  private readonly behind = new Set<SpdyStream>();
  /** With a write that the socket has not accepted yet. */
  private readonly undrained = new Set<SpdyStream>();
  private readonly accept: (stream: SpdyStream) => boolean;
  private nextId: number;
  private nextPing: number;
  private lastPeerId = 0;
  /** null: the peer has not spoken of windows. */
  private initialWindow: number | null = null;
  /** Whether the peer keeps to windows. */
  private regard: 'unknown' | 'keeps' | 'ignores' = 'unknown';
  private readonly toGrant = new Set<SpdyStream>();
  private grantTimer: NodeJS.Timeout | null = null;
  private over = false;
  private readonly out: FrameWriter;

  constructor(
    private readonly socket: Duplex,
    private readonly options: SpdyConnectionOptions,
    head: Buffer = Buffer.alloc(0),
  ) {
    this.nextId = options.role === 'client' ? 1 : 2;
    this.nextPing = this.nextId;
    this.accept = options.accept ?? (() => false);
    this.out = new FrameWriter(socket, options.guarded, () => this.drained());
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.end());
    socket.once('end', () => this.close());
    socket.on('data', (chunk: Buffer) => this.received(chunk));
    // After the caller's current turn.
    if (head.length > 0) socket.unshift(head);
    if (socket.destroyed) this.end();
  }

  /** Of both sides. */
  get openStreams(): number {
    return this.streams.size;
  }

  /** Resolves once the peer has taken it; rejects when it doesn't, or the connection ends. */
  open(headers: Readonly<Record<string, string>>): Promise<SpdyStream> {
    if (this.over || this.nextId > idMax) return Promise.reject(new Error('the connection is closed'));
    const id = this.nextId;
    this.nextId += 2;
    this.add(id, new Map(Object.entries(headers)));
    return new Promise((resolve, reject) => {
      this.opening.set(id, { resolve, reject });
      this.out.put(synStreamFrame(id, this.writer.block(headers)));
    });
  }

  /** Resolves with the peer's answer; never resolves on a closed connection. */
  ping(): Promise<void> {
    const id = this.nextPing;
    this.nextPing += 2;
    return new Promise((resolve) => {
      this.pings.set(id, resolve);
      if (!this.over) this.out.put(pingFrame(id));
    });
  }

  /** Whether a ping is of use: nothing came for so long, and nothing waits for its reader. Otherwise it may meet the peer's end, and lose its last output. */
  isQuiet(millis: number): boolean {
    return this.behind.size === 0 && this.out.silentMillis >= millis;
  }

  /** In order: pending output is sent, and the peer has a while to close. A second call has no effect. */
  close(status: number = goawayStatus.ok): void {
    if (this.over) return;
    this.out.last(goawayFrame(this.lastPeerId, status));
    this.end();
    // Closing with bytes unread resets the connection and loses the last output.
    this.socket.resume();
    this.socket.end();
    const owesNothing = this.options.role === 'client' || status !== goawayStatus.ok;
    const late = setTimeout(() => this.socket.destroy(), this.options.lingerMillis ?? (owesNothing ? shortLingerMillis : unreadMillis)).unref();
    this.socket.once('close', () => clearTimeout(late));
  }

  destroy(): void {
    this.socket.destroy();
    this.end();
  }

  send(stream: SpdyStream, bytes: Buffer, done: (error?: Error | null) => void): void {
    if (this.over || stream.isLost) {
      done(stream.lossForWriter());
      return;
    }
    const allowed = this.initialWindow === null ? bytes.length : Math.max(0, Math.min(bytes.length, stream.sendWindow));
    stream.sendWindow -= allowed;
    const now = bytes.subarray(0, allowed);
    this.socket.cork();
    let drained = true;
    for (let at = 0; at < now.length; at += pieceBytes) {
      const piece = now.subarray(at, at + pieceBytes);
      this.out.put(dataHead(stream.id, piece.length, false));
      drained = this.out.put(piece);
    }
    this.socket.uncork();
    if (allowed < bytes.length) stream.waiting = { bytes: bytes.subarray(allowed), done };
    else if (drained) done();
    else {
      stream.undrained = done;
      this.undrained.add(stream);
    }
  }

  sendEnd(stream: SpdyStream, done: (error?: Error | null) => void): void {
    if (!this.over && !stream.isLost) this.out.put(dataHead(stream.id, 0, true));
    done();
  }

  consumed(stream: SpdyStream): void {
    if (stream.readableLength <= windowBytes && this.behind.delete(stream) && this.behind.size === 0 && !this.over) this.socket.resume();
    const read = stream.unacknowledged - stream.readableLength;
    if (this.over || stream.peerEnded || read < windowBytes / 2 || this.regard === 'ignores') return;
    if (this.regard === 'keeps') {
      stream.unacknowledged -= read;
      this.out.put(windowUpdateFrame(stream.id, read));
      return;
    }
    this.toGrant.add(stream);
    this.grantTimer ??= setTimeout(() => this.grantNow(), grantMillis).unref();
  }

  forget(stream: SpdyStream, broken: boolean): void {
    if (this.streams.get(stream.id) === stream) this.streams.delete(stream.id);
    if (broken && !this.over) this.out.put(rstStreamFrame(stream.id, resetStatus.cancel));
    this.toGrant.delete(stream);
    this.undrained.delete(stream);
    this.opening.get(stream.id)?.reject(new Error('the stream was reset'));
    this.opening.delete(stream.id);
    if (this.behind.delete(stream) && this.behind.size === 0 && !this.over) this.socket.resume();
  }

  private grantNow(): void {
    this.grantTimer = null;
    const streams = [...this.toGrant];
    this.toGrant.clear();
    if (this.over || this.regard === 'ignores') return;
    this.regard = 'keeps';
    for (const stream of streams) this.consumed(stream);
  }

  private add(id: number, headers: SpdyHeaders): SpdyStream {
    const stream = new SpdyStream(id, headers, this);
    stream.sendWindow = this.initialWindow ?? windowBytes;
    this.streams.set(id, stream);
    return stream;
  }

  private received(chunk: Buffer): void {
    if (this.over) return;
    this.out.received();
    try {
      for (const frame of this.frames.read(chunk)) {
        this.take(frame);
        if (this.over) return;
      }
    } catch (error) {
      if (!(error instanceof SpdyProtocolError)) throw error;
      this.close(goawayStatus.protocolError);
    }
  }

  private take(frame: SpdyFrame): void {
    switch (frame.kind) {
      case 'data':
        this.takeData(frame.streamId, frame.bytes, frame.fin);
        return;
      case 'syn-stream':
        this.takeStream(frame);
        return;
      case 'syn-reply':
        this.takeReply(frame);
        return;
      case 'headers':
        this.reader.headers(frame.block);
        if (frame.fin) this.takeData(frame.streamId, Buffer.alloc(0), true);
        return;
      case 'rst-stream':
        this.takeReset(frame.streamId);
        return;
      case 'settings': {
        const initial = frame.values.get(initialWindowSetting);
        if (initial !== undefined) this.takeInitialWindow(Math.min(initial, windowMax));
        return;
      }
      case 'ping':
        this.takePing(frame.id);
        return;
      case 'window-update':
        this.takeWindow(frame.streamId, frame.delta);
        return;
      case 'goaway':
      case 'unknown':
        return;
    }
  }

  private takeStream({ streamId, fin, unidirectional, block }: SpdyFrame & { readonly kind: 'syn-stream' }): void {
    // Always decodes the headers, even of a refused stream: later ones build upon them.
    const headers = this.reader.headers(block);
    const isPeers = streamId % 2 === (this.options.role === 'client' ? 0 : 1);
    if (!isPeers || streamId <= this.lastPeerId) throw new SpdyProtocolError(`stream ${streamId} after ${this.lastPeerId}`);
    this.lastPeerId = streamId;
    if (unidirectional || this.streams.size >= (this.options.streamsMax ?? defaultStreamsMax)) {
      this.answer(rstStreamFrame(streamId, resetStatus.refusedStream));
      return;
    }
    const stream = this.add(streamId, headers);
    if (!this.accept(stream)) {
      stream.peerReset = true;
      stream.destroy();
      this.answer(rstStreamFrame(streamId, resetStatus.cancel));
      return;
    }
    if (this.over) return;
    this.answer(synReplyFrame(streamId, this.writer.block({})));
    if (fin) this.takeData(streamId, Buffer.alloc(0), true);
  }

  private takeReply({ streamId, fin, block }: SpdyFrame & { readonly kind: 'syn-reply' | 'headers' }): void {
    this.reader.headers(block);
    const waiting = this.opening.get(streamId);
    const stream = this.streams.get(streamId);
    if (waiting === undefined || stream === undefined) {
      this.answer(rstStreamFrame(streamId, stream === undefined ? resetStatus.invalidStream : resetStatus.streamInUse));
      return;
    }
    this.opening.delete(streamId);
    waiting.resolve(stream);
    if (fin) this.takeData(streamId, Buffer.alloc(0), true);
  }

  private takeData(streamId: number, bytes: Buffer, fin: boolean): void {
    const stream = this.streams.get(streamId);
    if (stream === undefined || stream.peerEnded) {
      // For a former stream: data in flight at its end. For an unknown one, or after its end: an error.
      const was = streamId > 0 && streamId <= (streamId % 2 === this.nextId % 2 ? this.nextId - 2 : this.lastPeerId);
      if (stream !== undefined) this.answer(rstStreamFrame(streamId, resetStatus.streamAlreadyClosed));
      else if (!was) this.answer(rstStreamFrame(streamId, resetStatus.invalidStream));
      return;
    }
    if (bytes.length > 0) {
      stream.unacknowledged += bytes.length;
      if (stream.unacknowledged > windowBytes && this.regard === 'unknown') this.regard = 'ignores';
      // A copy, so that a small remainder doesn't keep the socket's whole chunk.
      if (!stream.push(Buffer.from(bytes))) {
        this.behind.add(stream);
        this.socket.pause();
      }
      this.consumed(stream);
    }
    if (!fin) return;
    stream.peerEnded = true;
    stream.push(null);
  }

  private takeReset(streamId: number): void {
    const stream = this.streams.get(streamId);
    if (stream === undefined) return;
    stream.peerReset = true;
    this.undrained.delete(stream);
    this.forget(stream, false);
    stream.lose();
  }

  private takePing(id: number): void {
    if (id % 2 !== this.nextPing % 2) {
      this.answer(pingFrame(id));
      return;
    }
    this.pings.get(id)?.();
    this.pings.delete(id);
  }

  private takeInitialWindow(initial: number): void {
    const before = this.initialWindow ?? windowBytes;
    this.initialWindow = initial;
    if (this.regard === 'unknown') this.regard = 'keeps';
    for (const stream of this.streams.values()) this.widen(stream, initial - before);
  }

  private takeWindow(streamId: number, delta: number): void {
    this.initialWindow ??= windowBytes;
    if (this.regard === 'unknown') this.regard = 'keeps';
    const stream = this.streams.get(streamId);
    if (stream !== undefined) this.widen(stream, delta);
  }

  private widen(stream: SpdyStream, delta: number): void {
    stream.sendWindow += delta;
    if (stream.sendWindow > windowMax) {
      stream.peerReset = true;
      this.answer(rstStreamFrame(stream.id, resetStatus.flowControlError));
      stream.destroy();
      return;
    }
    const { waiting } = stream;
    if (waiting === null || stream.sendWindow <= 0) return;
    stream.waiting = null;
    this.send(stream, waiting.bytes, waiting.done);
  }

  /** An answer that the peer causes. */
  private answer(frame: Buffer): void {
    if (this.over) return;
    this.out.put(frame);
    if (this.socket.writableLength > unreadAnswersMax && this.undrained.size === 0) this.destroy();
  }

  private drained(): void {
    const waiting = [...this.undrained];
    this.undrained.clear();
    for (const stream of waiting) stream.sent();
  }

  private end(): void {
    if (this.over) return;
    this.over = true;
    if (this.grantTimer !== null) clearTimeout(this.grantTimer);
    this.toGrant.clear();
    const gone = new Error('the connection is closed');
    for (const stream of [...this.streams.values()]) stream.lose();
    this.streams.clear();
    for (const { reject } of this.opening.values()) reject(gone);
    this.opening.clear();
    this.undrained.clear();
    this.behind.clear();
    this.pings.clear();
  }
}
