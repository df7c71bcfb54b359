// A gRPC client: one connection, unary calls and server streams, and nothing else. The agent makes some fifteen calls to its runtime
// per pod start, so the cost of a call matters: a fraction of that of @grpc/grpc-js (bench/grpc-calls), whose
// servers this project uses. It also drops a peer that never speaks HTTP/2, to which that library holds on for a minute.
//
// Invariants: a call is never retried, and ends once: by its answer, its deadline, its cancellation or the end of the connection; the next call
// reconnects a closed connection; an idle channel keeps no process alive.
import type { Duplex } from 'node:stream';
import { Http2Connection, Http2ProtocolError, type Http2Request, headerBlock, type StreamEnd } from '../http2/index.js';
import type { CallTrace } from './call-trace.js';
import { FrameReader, framed } from './frames.js';
import { decodedMessage, failureOfHttp, failureOfReset, GrpcFailure, grpcStatus } from './status.js';

export interface GrpcChannelOptions {
  /** Opens the connection. */
  readonly dial: () => Duplex;
  /** The error text of a failed connection, such as `dial unix /run/a.sock: connect: no such file or directory`. */
  readonly dialProblem: (error: Error) => string;
  /** Called when the peer proves to speak HTTP/2. */
  readonly spoke?: () => void;
  /** The `:authority` of requests. */
  readonly authority: string;
  readonly userAgent: string;
  readonly messageBytesMax: number;
  /** Called at the beginning of each call. */
  readonly trace?: (path: string) => CallTrace;
}

export interface GrpcStream {
  cancel(): void;
}

interface StreamEvents {
  /** The server's headers have arrived: it has accepted the call. */
  readonly begun?: () => void;
  readonly message: (message: Buffer) => void;
  /** Called once, last. null: status OK. */
  readonly ended: (failure: GrpcFailure | null) => void;
}

const timeoutUnitMax = 99_999_999;
const longestTimerMillis = 2_147_483_647;
const empty = Buffer.alloc(0);
/** Paths are those of methods, a few dozen. */
const keptBlocksMax = 200;

export class GrpcChannel {
  private connection: Http2Connection | null = null;
  /** Header blocks by path. */
  private readonly blocks = new Map<string, Buffer>();
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
    if (this.isClosed) {
      queueMicrotask(() => events.ended(new GrpcFailure(grpcStatus.UNAVAILABLE, 'the channel is closed')));
      return { cancel: () => {} };
    }
    const connection = this.connected();
    if (this.calls++ === 0) connection.keepAwake(true);
    const trace = this.options.trace?.(path) ?? null;
    const headers = this.headers(path, deadlineMillis);
    return new CallRun(
      connection,
      trace === null ? headers : Buffer.concat([headers, headerBlock(trace.headers)]),
      framed(request),
      deadlineMillis,
      this.options,
      events,
      (failure) => {
        if (--this.calls === 0) this.connection?.keepAwake(false);
        trace?.ended(failure);
      },
    );
  }

  /** Ends the connection; calls in progress fail. */
  close(): void {
    this.isClosed = true;
    this.connection?.destroy();
    this.connection = null;
  }

  private headers(path: string, deadlineMillis: number | null): Buffer {
    const { authority, userAgent } = this.options;
    let block = this.blocks.get(path);
    if (block === undefined) {
      const common = { te: 'trailers', 'content-type': 'application/grpc', 'user-agent': userAgent };
      block = headerBlock({ ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': authority, ...common });
      if (this.blocks.size >= keptBlocksMax) this.blocks.clear();
      this.blocks.set(path, block);
    }
    return deadlineMillis === null ? block : Buffer.concat([block, headerBlock({ 'grpc-timeout': timeoutText(deadlineMillis) })]);
  }

  private connected(): Http2Connection {
    if (this.connection?.isOpen === true) return this.connection;
    const fresh: Http2Connection = new Http2Connection({
      dial: this.options.dial,
      spoke: () => this.options.spoke?.(),
      left: () => {
        if (this.connection === fresh) this.connection = null;
      },
    });
    fresh.keepAwake(this.calls > 0);
    this.connection = fresh;
    return fresh;
  }
}

class CallRun implements GrpcStream {
  private readonly reader: FrameReader;
  private readonly request: Http2Request;
  private status: ReadonlyMap<string, string> | null = null;
  private http: ReadonlyMap<string, string> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private isOver = false;

  constructor(
    private readonly connection: Http2Connection,
    headers: Buffer,
    body: Buffer,
    deadlineMillis: number | null,
    private readonly options: GrpcChannelOptions,
    private readonly events: StreamEvents,
    private readonly release: (failure: GrpcFailure | null) => void,
  ) {
    this.reader = new FrameReader(options.messageBytesMax);
    this.request = connection.request(headers, body, {
      headers: (block) => this.tookHeaders(block),
      data: (bytes) => this.take(bytes),
      ended: (end) => this.end(this.outcome(end)),
    });
    // Node's timers hold 31 bits; a call of more than 24 days counts as unlimited.
    if (deadlineMillis === null || deadlineMillis > longestTimerMillis) return;
    this.timer = setTimeout(() => this.cut(new GrpcFailure(grpcStatus.DEADLINE_EXCEEDED, 'context deadline exceeded')), Math.max(0, deadlineMillis));
  }

  cancel(): void {
    this.cut(new GrpcFailure(grpcStatus.CANCELLED, 'context canceled'));
  }

  private tookHeaders(block: ReadonlyMap<string, string>): void {
    const isFirst = this.http === null;
    this.http ??= block;
    // Headers with a status are the whole answer.
    if (!isFirst || block.has('grpc-status')) this.status = block;
    else this.events.begun?.();
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
    this.request.cancel();
    this.end(failure);
  }

  private outcome(end: StreamEnd): GrpcFailure | null {
    const { status, http } = this;
    if (status !== null && end.how !== 'reset') {
      const code = Number(status.get('grpc-status') ?? grpcStatus.UNKNOWN);
      if (code !== grpcStatus.OK) return new GrpcFailure(Number.isInteger(code) ? code : grpcStatus.UNKNOWN, decodedMessage(status.get('grpc-message') ?? ''));
      return this.reader.isWithin ? new GrpcFailure(grpcStatus.INTERNAL, 'unexpected EOF') : null;
    }
    if (end.how === 'reset') return failureOfReset(end.code);
    if (end.how === 'whole' && http !== null) return failureOfHttp(Number(http.get(':status') ?? 0), http.get('content-type') ?? '');
    return this.lost();
  }

  /** The connection has ended. */
  private lost(): GrpcFailure {
    const { problem, stood } = this.connection;
    if (problem !== null && !stood) {
      return new GrpcFailure(grpcStatus.UNAVAILABLE, `connection error: desc = "transport: Error while dialing: ${this.options.dialProblem(problem)}"`);
    }
    const isProtocol = problem instanceof Http2ProtocolError;
    return new GrpcFailure(grpcStatus.UNAVAILABLE, isProtocol ? `connection error: desc = "error reading server preface: ${problem.message}"` : 'error reading from server: EOF');
  }

  private end(failure: GrpcFailure | null): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.release(failure);
    this.events.ended(failure);
  }
}

/** At most eight digits and a unit. */
function timeoutText(millis: number): string {
  const whole = Math.max(0, Math.ceil(millis));
  return whole <= timeoutUnitMax ? `${whole}m` : `${Math.min(timeoutUnitMax, Math.ceil(whole / 1_000))}S`;
}
