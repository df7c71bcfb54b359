// A client of gRPC over Node's HTTP/2: one connection, calls with one answer or a stream of them, and nothing else. It is what stands between
// the agent and its runtime, some fifteen calls a pod start, so what a call costs counts: about half of what it costs with @grpc/grpc-js
// (bench/grpc-calls), whose servers we use. It also lets go of a peer that never speaks, which that library holds on to for a minute.
//
// Invariants: a call is never retried, and ends once: by its answer, its deadline, its cancellation or the end of the connection; a connection
// that has ended is made anew by the next call; an idle channel keeps no process alive.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import { FrameReader, framed } from './frames.js';
import { decodedMessage, failureOfHttp, failureOfReset, GrpcFailure, grpcStatus } from './status.js';

export interface GrpcChannelOptions {
  /** Opens the connection. */
  readonly dial: () => Duplex;
  /** What a failed connection is called, such as `dial unix /run/a.sock: connect: no such file or directory`. */
  readonly dialProblem: (error: Error) => string;
  /** Told when the peer has shown that it speaks HTTP/2. */
  readonly spoke?: () => void;
  /** The `:authority` of requests. */
  readonly authority: string;
  readonly userAgent: string;
  readonly messageBytesMax: number;
}

export interface GrpcStream {
  cancel(): void;
}

interface StreamEvents {
  /** The server's headers are there: it has taken the call. */
  readonly begun?: () => void;
  readonly message: (message: Buffer) => void;
  /** Called once, last. null: status OK. */
  readonly ended: (failure: GrpcFailure | null) => void;
}

/** Larger than HTTP/2's first window of 64 KiB: a list of hundreds of containers would wait for window updates. */
const windowBytes = 1024 * 1024;
/** Node's bound on what a connection holds, in MB; beyond it streams are refused. */
const sessionMegabytesMax = 64;
const timeoutUnitMax = 99_999_999;
const longestTimerMillis = 2_147_483_647;

export class GrpcChannel {
  private connection: Connection | null = null;
  private calls = 0;
  private isClosed = false;

  constructor(private readonly options: GrpcChannelOptions) {}

  /** One request, one answer. @param deadlineMillis from now; null: none @param settle called once */
  unary(path: string, request: Uint8Array, deadlineMillis: number | null, settle: (failure: GrpcFailure | null, answer: Buffer) => void): GrpcStream {
    let answer: Buffer | null = null;
    let answers = 0;
    return this.call(path, request, deadlineMillis, {
      message(message) {
        answers++;
        answer = message;
      },
      ended(failure) {
        if (failure === null && answer !== null && answers === 1) settle(null, answer);
        else settle(failure ?? new GrpcFailure(grpcStatus.INTERNAL, `cardinality violation: expected one answer, got ${answers}`), empty);
      },
    });
  }

  /** One request, any number of answers, as they come. */
  call(path: string, request: Uint8Array, deadlineMillis: number | null, events: StreamEvents): GrpcStream {
    const { connection, stream, problem } = this.request(path, deadlineMillis);
    if (stream === null) {
      queueMicrotask(() => events.ended(new GrpcFailure(grpcStatus.UNAVAILABLE, problem)));
      return { cancel: () => {} };
    }
    if (this.calls++ === 0) connection.session.ref();
    const run = new CallRun(stream, connection, this.options.messageBytesMax, events, () => {
      if (--this.calls === 0) this.connection?.session.unref();
    });
    if (deadlineMillis !== null) run.limit(deadlineMillis);
    stream.end(framed(request));
    return run;
  }

  /** Ends the connection; calls under way fail. */
  close(): void {
    this.isClosed = true;
    this.connection?.session.destroy();
    this.connection = null;
  }

  private request(path: string, deadlineMillis: number | null) {
    const { authority, userAgent } = this.options;
    const headers = { ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': authority, te: 'trailers', 'content-type': 'application/grpc', 'user-agent': userAgent };
    try {
      if (this.isClosed) throw new Error('the channel is closed');
      const connection = this.connected();
      const stream = connection.session.request(deadlineMillis === null ? headers : { ...headers, 'grpc-timeout': timeoutText(deadlineMillis) });
      return { connection, stream, problem: '' } as const;
    } catch (error) {
      return { connection: null, stream: null, problem: error instanceof Error ? error.message : String(error) } as const;
    }
  }

  private connected(): Connection {
    const { session } = this.connection ?? {};
    if (this.connection !== null && session?.closed === false && !session.destroyed) return this.connection;
    const fresh = new Connection(this.options, () => {
      if (this.connection === fresh) this.connection = null;
    });
    if (this.calls === 0) fresh.session.unref();
    this.connection = fresh;
    return fresh;
  }
}

const empty = Buffer.alloc(0);

class Connection {
  readonly session: ClientHttp2Session;
  /** Whether it ever stood; a failure before that is one of dialling. */
  private stood = false;

  /** @param left told when it takes no more calls; it still answers those it has */
  constructor(
    private readonly options: GrpcChannelOptions,
    left: () => void,
  ) {
    const { dial, authority } = options;
    const settings = { enablePush: false, initialWindowSize: windowBytes };
    this.session = connect(`http://${authority}`, { createConnection: dial, maxSessionMemory: sessionMegabytesMax, settings });
    this.session.once('connect', () => {
      this.stood = true;
      // It may have been given up at the moment at which it stood.
      if (!this.session.destroyed) this.session.setLocalWindowSize(windowBytes);
    });
    this.session.once('remoteSettings', () => options.spoke?.());
    // Each stream is told of it, and tells its call.
    this.session.on('error', () => {});
    this.session.once('goaway', left);
    this.session.once('close', left);
  }

  /** @param ended what ended a stream with the connection; null: nothing is known */
  failure(ended: Error | null): GrpcFailure {
    // Of a stream that waited for the connection the cause is the connection's.
    const error = ended?.cause instanceof Error ? ended.cause : ended;
    if (error !== null && !this.stood)
      return new GrpcFailure(grpcStatus.UNAVAILABLE, `connection error: desc = "transport: Error while dialing: ${this.options.dialProblem(error)}"`);
    const isProtocol = error !== null && /^ERR_HTTP2/.test((error as NodeJS.ErrnoException).code ?? '');
    return new GrpcFailure(grpcStatus.UNAVAILABLE, isProtocol ? `connection error: desc = "error reading server preface: ${error.message}"` : 'error reading from server: EOF');
  }
}

class CallRun implements GrpcStream {
  private readonly reader: FrameReader;
  private status: IncomingHttpHeaders | null = null;
  private http: IncomingHttpHeaders | null = null;
  private error: NodeJS.ErrnoException | null = null;
  private timer: NodeJS.Timeout | null = null;
  private isOver = false;

  constructor(
    private readonly stream: ClientHttp2Stream,
    private readonly connection: Connection,
    messageBytesMax: number,
    private readonly events: StreamEvents,
    private readonly release: () => void,
  ) {
    this.reader = new FrameReader(messageBytesMax);
    stream.on('response', (headers) => {
      this.http = headers;
      // Headers with a status are all there is.
      if (headers['grpc-status'] !== undefined) this.status = headers;
      else if (!this.isOver) this.events.begun?.();
    });
    stream.on('trailers', (headers) => {
      this.status = headers;
    });
    stream.on('data', (chunk: Buffer) => this.take(chunk));
    stream.once('end', () => {
      if (this.status !== null) this.end(this.outcome());
    });
    stream.on('error', (error) => {
      this.error = error;
    });
    stream.once('close', () => this.end(this.outcome()));
  }

  limit(millis: number): void {
    // Timers of Node hold 31 bits; a call that may take longer than 24 days has no limit to speak of.
    if (millis > longestTimerMillis) return;
    this.timer = setTimeout(() => this.cut(new GrpcFailure(grpcStatus.DEADLINE_EXCEEDED, 'context deadline exceeded')), Math.max(0, millis));
  }

  cancel(): void {
    this.cut(new GrpcFailure(grpcStatus.CANCELLED, 'context canceled'));
  }

  private take(chunk: Buffer): void {
    if (this.isOver) return;
    try {
      for (const message of this.reader.take(chunk)) this.events.message(message);
    } catch (error) {
      if (!(error instanceof GrpcFailure)) throw error;
      this.cut(error);
    }
  }

  private cut(failure: GrpcFailure): void {
    if (this.isOver) return;
    // One that the connection never took up has nobody to tell.
    if (this.stream.pending) this.stream.destroy();
    else this.stream.close(constants.NGHTTP2_CANCEL);
    this.end(failure);
  }

  private outcome(): GrpcFailure | null {
    const { status, http, error, stream } = this;
    if (status !== null) {
      const code = Number(status['grpc-status'] ?? grpcStatus.UNKNOWN);
      if (code !== grpcStatus.OK) return new GrpcFailure(Number.isInteger(code) ? code : grpcStatus.UNKNOWN, decodedMessage(String(status['grpc-message'] ?? '')));
      return this.reader.isWithin ? new GrpcFailure(grpcStatus.INTERNAL, 'unexpected EOF') : null;
    }
    if (this.connection.session.destroyed) return this.connection.failure(error);
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) return failureOfReset(stream.rstCode);
    if (http !== null) return failureOfHttp(Number(http[':status'] ?? 0), String(http['content-type'] ?? ''));
    return this.connection.failure(error);
  }

  private end(failure: GrpcFailure | null): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.release();
    this.events.ended(failure);
  }
}

/** At most eight digits and a unit. */
function timeoutText(millis: number): string {
  const whole = Math.max(0, Math.ceil(millis));
  return whole <= timeoutUnitMax ? `${whole}m` : `${Math.min(timeoutUnitMax, Math.ceil(whole / 1_000))}S`;
}
