// One connection of an HTTP/2 client (RFC 9113): requests with a complete body, streamed answers. Node's own client is the largest cost
// of a small call (bench/grpc-calls); this one does what gRPC needs and no more: no push, no priorities, no streamed uploads.
//
// Invariants: each request gets exactly one end, unless it was cancelled; everything a peer can make it keep is bounded (a frame, a header block,
// the header table, the windows); a protocol violation ends the connection, with the reason in `problem`; requests of one turn of
// the event loop leave in one write.
import type { Duplex } from 'node:stream';
import { checkFrame, enlargeProblem, windowBytesMax } from './frame-rules.js';
import { FrameWindow, windowBytes } from './frame-window.js';
import {
  defaultFrameBytes,
  defaultWindowBytes,
  type Frame,
  FrameSplitter,
  flag,
  frame,
  frameType,
  Http2ProtocolError,
  headBytes,
  http2Error,
  numberFrame,
  numberOf,
  preface,
  setting,
  settingsFrame,
  unpadded,
  violation,
  writeHead,
} from './frames.js';
import { HeaderBlockError, HeaderDecoder } from './header-decoder.js';
import { Liveness, type LivenessLimits } from './liveness.js';
import { type PeerSettings, settingsOf } from './peer-settings.js';
import type { Stream, StreamEnd, StreamEvents } from './streams.js';

export interface Http2ConnectionOptions {
  /** Opens the connection. */
  readonly dial: () => Duplex;
  /** Called when the peer proves to speak HTTP/2. */
  readonly spoke: () => void;
  /** Called once, when the connection accepts no more requests; it still answers those it has. */
  readonly left: () => void;
  /** Pings a silent peer; absent: callers have deadlines of their own. */
  readonly liveness?: LivenessLimits;
}

export interface Http2Request {
  /** Drops all further events. */
  cancel(): void;
  /** Whether the peer may send no more than a window of the answer. */
  hold(isHeld: boolean): void;
}

type Socket = Duplex & { readonly connecting?: boolean; ref?: () => void; unref?: () => void };

/** Of a header block, in any number of frames. */
const headerBlockBytesMax = 64 * 1024;
/** The limit of frames that require an answer (pings, settings) while the peer reads none. */
const unreadAnswersMax = 10_000;
const streamIdMax = 0x7f_ff_ff_ff;

export class Http2Connection {
  /** Whether it was ever established; an earlier failure is a dial failure. */
  stood = false;
  /** The error that ended it, if known. */
  problem: Error | null = null;
  private readonly socket: Socket;
  private readonly splitter = new FrameSplitter();
  private readonly decoder = new HeaderDecoder();
  private readonly streams = new Map<number, Stream>();
  /** Requests beyond the peer's concurrency limit, in order. */
  private readonly waiting = new Set<Stream>();
  private readonly window = new FrameWindow();
  private peer: PeerSettings = { streamsMax: Number.POSITIVE_INFINITY, windowBytes: defaultWindowBytes, frameBytes: defaultFrameBytes };
  private sendable = defaultWindowBytes;
  private nextId = 1;
  private hasSettings = false;
  private isLeft = false;
  private isOver = false;
  /** A block of headers of which more frames are to come. */
  private block: { readonly stream: number; readonly flags: number; parts: Buffer[]; bytes: number } | null = null;
  private out: Buffer[] = [];
  private readonly liveness: Liveness | null;

  constructor(private readonly options: Http2ConnectionOptions) {
    this.liveness = options.liveness === undefined ? null : this.watched(options.liveness);
    this.socket = options.dial();
    this.stood = this.socket.connecting !== true;
    this.socket.once('connect', () => {
      this.stood = true;
    });
    this.socket.on('data', (chunk: Buffer) => this.take(chunk));
    this.socket.on('error', (error) => {
      this.problem ??= error;
    });
    // A peer that has ended its side answers nothing any more.
    this.socket.once('end', () => this.socket.destroy());
    this.socket.once('close', () => this.over());
    this.send(preface);
    const settings = [
      [setting.enablePush, 0],
      [setting.initialWindowSize, windowBytes],
    ] as const;
    this.send(settingsFrame(settings));
    this.send(numberFrame(frameType.windowUpdate, 0, windowBytes - defaultWindowBytes));
  }

  /** Whether it takes requests. */
  get isOpen(): boolean {
    return !this.isLeft && !this.isOver;
  }

  /** @param headers a block of header-encoder.ts @param body whole, empty: none; not to be changed afterwards */
  request(headers: Buffer, body: Buffer, events: StreamEvents): Http2Request {
    const stream: Stream = { id: 0, events, headers, body, isSent: false, window: new FrameWindow(), isHeld: false, sendable: 0 };
    if (this.streams.size < this.peer.streamsMax && this.waiting.size === 0) this.begin(stream);
    else this.waiting.add(stream);
    this.liveness?.began();
    return { cancel: () => this.cancel(stream), hold: (isHeld) => this.holdBack(stream, isHeld) };
  }

  /** How many more requests the peer accepts at once. @param assumed the limit until the peer sends its settings */
  free(assumed: number): number {
    const most = this.hasSettings ? this.peer.streamsMax : assumed;
    return this.isOpen ? most - this.streams.size - this.waiting.size : 0;
  }

  /** Whether the connection keeps the process alive. */
  keepAwake(isHeld: boolean): void {
    if (isHeld) this.socket.ref?.();
    else this.socket.unref?.();
  }

  /** Ends it at once; requests in progress get their end. */
  destroy(): void {
    this.socket.destroy();
    this.over();
  }

  private watched(limits: LivenessLimits): Liveness {
    const lost = (): void => {
      this.problem ??= new Error('http2: client connection lost');
      this.destroy();
    };
    return new Liveness(
      limits,
      () => this.streams.size + this.waiting.size > 0,
      () => this.send(frame(frameType.ping, 0, 0, Buffer.alloc(8))),
      lost,
    );
  }

  private holdBack(stream: Stream, isHeld: boolean): void {
    stream.isHeld = isHeld;
    if (!isHeld && this.streams.get(stream.id) === stream) this.enlarge(stream.id, stream.window);
  }

  /** Sends the peer a window update, if it is large enough for a frame. */
  private enlarge(id: number, window: FrameWindow): void {
    const more = window.refill();
    if (more > 0) this.send(numberFrame(frameType.windowUpdate, id, more));
  }

  private cancel(stream: Stream): void {
    if (this.waiting.delete(stream) || this.streams.get(stream.id) !== stream) return;
    this.streams.delete(stream.id);
    this.send(numberFrame(frameType.rstStream, stream.id, http2Error.cancel));
    this.freed();
  }

  private begin(stream: Stream): void {
    stream.id = this.nextId;
    stream.sendable = this.peer.windowBytes;
    this.nextId += 2;
    this.streams.set(stream.id, stream);
    const { headers, body } = stream;
    stream.isSent = body.length === 0;
    const whole = !stream.isSent && body.length <= Math.min(this.peer.frameBytes, stream.sendable, this.sendable);
    const bytes = Buffer.allocUnsafe(headBytes + headers.length + (whole ? headBytes + body.length : 0));
    writeHead(bytes, 0, headers.length, frameType.headers, flag.endHeaders | (stream.isSent ? flag.endStream : 0), stream.id);
    headers.copy(bytes, headBytes);
    if (whole) {
      const at = headBytes + headers.length;
      writeHead(bytes, at, body.length, frameType.data, flag.endStream, stream.id);
      body.copy(bytes, at + headBytes);
      this.wasSent(stream, body.length);
    }
    this.send(bytes);
    if (!whole) this.sendBody(stream);
    if (this.nextId > streamIdMax) this.leave();
  }

  /** Sends as much of the body as the windows allow. */
  private sendBody(stream: Stream): void {
    while (!stream.isSent) {
      const length = Math.min(stream.body.length, this.peer.frameBytes, stream.sendable, this.sendable);
      if (length <= 0) return;
      const part = stream.body.subarray(0, length);
      this.send(frame(frameType.data, length === stream.body.length ? flag.endStream : 0, stream.id, part));
      this.wasSent(stream, length);
    }
  }

  private wasSent(stream: Stream, bytes: number): void {
    stream.sendable -= bytes;
    this.sendable -= bytes;
    stream.body = stream.body.subarray(bytes);
    stream.isSent = stream.body.length === 0;
  }

  /** Writes of one turn leave together. */
  private send(bytes: Buffer): void {
    if (this.isOver) return;
    if (this.out.push(bytes) === 1) process.nextTick(() => this.flush());
  }

  private flush(): void {
    const { out } = this;
    this.out = [];
    if (!this.socket.destroyed && this.socket.writable) this.socket.write(out.length === 1 ? out[0] : Buffer.concat(out));
  }

  private take(chunk: Buffer): void {
    if (this.isOver) return;
    this.liveness?.heard();
    try {
      this.splitter.split(chunk, (frame) => {
        this.taken(frame);
        return !this.isOver;
      });
    } catch (error) {
      if (error instanceof HeaderBlockError) this.fail(new Http2ProtocolError(http2Error.compressionError, error.message));
      else if (error instanceof Http2ProtocolError) this.fail(error);
      else throw error;
    }
  }

  private fail(error: Http2ProtocolError): void {
    this.problem ??= error;
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(error.code, 4);
    this.send(frame(frameType.goaway, 0, 0, payload));
    this.flush();
    this.destroy();
  }

  private taken(frame: Frame): void {
    const { type, flags, stream, payload } = frame;
    if (!this.hasSettings && (type !== frameType.settings || (flags & flag.ack) !== 0)) throw violation('the first frame is not one of settings');
    if (this.block !== null && (type !== frameType.continuation || stream !== this.block.stream)) throw violation('a block of headers is interrupted');
    checkFrame(frame, this.nextId);
    if (type === frameType.data) this.tookData(frame);
    else if (type === frameType.headers) this.tookHeaders(stream, flags, unpadded(frame, (flags & flag.priority) !== 0 ? 5 : 0));
    else if (type === frameType.continuation) this.tookContinuation(frame);
    else if (type === frameType.rstStream) this.finish(stream, { how: 'reset', code: numberOf(payload) });
    else if (type === frameType.settings) this.tookSettings(frame);
    else if (type === frameType.ping) this.tookPing(frame);
    else if (type === frameType.goaway) this.tookGoaway(payload);
    else if (type === frameType.windowUpdate) this.tookWindow(stream, numberOf(payload) & streamIdMax);
    else if (type === frameType.pushPromise) throw violation('a push that was not allowed');
  }

  private tookData(frame: Frame): void {
    const stream = this.streams.get(frame.stream);
    this.window.take(frame.payload.length);
    this.enlarge(0, this.window);
    // Frames of a cancelled or reset stream may still arrive.
    if (stream === undefined) return;
    const isEnd = (frame.flags & flag.endStream) !== 0;
    stream.window.take(frame.payload.length);
    const bytes = unpadded(frame, 0);
    if (bytes.length > 0) stream.events.data(bytes);
    if (!isEnd && !stream.isHeld) this.enlarge(frame.stream, stream.window);
    if (isEnd) this.finish(frame.stream, { how: 'whole' });
  }

  private tookHeaders(stream: number, flags: number, part: Buffer): void {
    if ((flags & flag.endHeaders) !== 0) this.tookBlock(stream, flags, part);
    else this.block = { stream, flags, parts: [Buffer.from(part)], bytes: part.length };
  }

  private tookContinuation({ flags, payload }: Frame): void {
    const { block } = this;
    if (block === null) throw violation('headers are continued that have not begun');
    block.parts.push(Buffer.from(payload));
    block.bytes += payload.length;
    // An empty one counts too: otherwise a peer could send them endlessly.
    if (block.bytes + headBytes * block.parts.length > headerBlockBytesMax) throw new Http2ProtocolError(http2Error.enhanceYourCalm, 'a block of headers is too long');
    if ((flags & flag.endHeaders) === 0) return;
    this.block = null;
    this.tookBlock(block.stream, block.flags, Buffer.concat(block.parts));
  }

  private tookBlock(id: number, flags: number, bytes: Buffer): void {
    const headers = this.decoder.decode(bytes);
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    // Informational answers (103 and similar) are ignored.
    if (!/^1\d\d$/.test(headers.get(':status') ?? '')) stream.events.headers(headers);
    if ((flags & flag.endStream) !== 0) this.finish(id, { how: 'whole' });
  }

  private tookSettings({ flags, payload }: Frame): void {
    if ((flags & flag.ack) !== 0) return;
    const before = this.peer.windowBytes;
    this.peer = settingsOf(payload, this.peer);
    this.answer(frame(frameType.settings, flag.ack, 0, Buffer.alloc(0)));
    for (const stream of this.streams.values()) {
      stream.sendable += this.peer.windowBytes - before;
      if (stream.sendable > windowBytesMax) throw new Http2ProtocolError(http2Error.flowControlError, `SETTINGS make a window of ${stream.sendable} bytes`);
    }
    if (!this.hasSettings) {
      this.hasSettings = true;
      this.options.spoke();
    }
    for (const stream of [...this.streams.values()]) this.sendBody(stream);
    this.freed();
  }

  private tookPing({ flags, payload }: Frame): void {
    if ((flags & flag.ack) === 0) this.answer(frame(frameType.ping, flag.ack, 0, payload));
  }

  /** Sends the answer to a frame, as long as the peer reads such answers. */
  private answer(bytes: Buffer): void {
    if (this.out.length > unreadAnswersMax || this.socket.writableLength > unreadAnswersMax * bytes.length) {
      throw new Http2ProtocolError(http2Error.enhanceYourCalm, 'more questions than answers are read');
    }
    this.send(bytes);
  }

  private tookGoaway(payload: Buffer): void {
    const last = payload.readUInt32BE(0) & streamIdMax;
    this.leave();
    for (const id of [...this.streams.keys()]) if (id > last) this.finish(id, { how: 'reset', code: http2Error.refusedStream });
    for (const stream of this.waiting) stream.events.ended({ how: 'reset', code: http2Error.refusedStream });
    this.waiting.clear();
    this.freed();
  }

  private tookWindow(id: number, more: number): void {
    const sendable = id === 0 ? this.sendable : this.streams.get(id)?.sendable;
    const problem = sendable === undefined ? null : enlargeProblem(sendable, more);
    if (problem !== null && id === 0) throw new Http2ProtocolError(problem, `WINDOW_UPDATE of ${more} bytes`);
    // An error of one stream is the end of that stream alone (RFC 9113, sections 5.4.2 and 6.9).
    if (problem !== null) {
      this.send(numberFrame(frameType.rstStream, id, problem));
      this.finish(id, { how: 'reset', code: problem });
      return;
    }
    if (id === 0) {
      this.sendable += more;
      for (const stream of [...this.streams.values()]) if (!stream.isSent) this.sendBody(stream);
      return;
    }
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    stream.sendable += more;
    this.sendBody(stream);
  }

  private finish(id: number, end: StreamEnd): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    this.streams.delete(id);
    // The answer is whole; the rest of the question isn't wanted.
    if (!stream.isSent && end.how === 'whole') this.send(numberFrame(frameType.rstStream, id, http2Error.noError));
    stream.events.ended(end);
    this.freed();
  }

  /** One that waits may have its turn; a connection that was left ends with its last answer. */
  private freed(): void {
    for (const stream of this.waiting) {
      if (this.streams.size >= this.peer.streamsMax) break;
      this.waiting.delete(stream);
      this.begin(stream);
    }
    if (this.isLeft && this.streams.size === 0 && this.waiting.size === 0) this.socket.end();
  }

  private leave(): void {
    if (this.isLeft) return;
    this.isLeft = true;
    this.options.left();
  }

  private over(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.liveness?.stop();
    this.leave();
    const all = [...this.streams.values(), ...this.waiting];
    this.streams.clear();
    this.waiting.clear();
    for (const stream of all) stream.events.ended({ how: 'connection' });
  }
}
