// One gRPC channel to a runtime's socket, and its unary calls.
//
// Invariants: a call is never retried and never waits for a socket that is down; it ends by its answer, by its deadline or by its
// signal, the earliest one; it rejects with PortError only.

import { setMaxListeners } from 'node:events';
import type { Micros } from '../../ports/micros.js';
import type { Call } from '../../ports/operation.js';
import type { CriCallObservation } from '../../ports/outbound/metrics/kubelet-metrics.js';
import { PortError } from '../../ports/port-error.js';
import { type CallTrace, GrpcChannel, type GrpcFailure, type GrpcStream, grpcStatus, unixDial } from '../grpc/index.js';
import { CreatedPods } from './created-pods.js';
import { socketPathOf } from './endpoint.js';
import { goErrorText, portErrorOf, wholeGoErrorText } from './grpc-errors.js';
import { operationTypeOf } from './operation-types.js';

/** Largest answer that is taken, as the kubelet's client has it. */
const maxReceiveBytes = 16 * 1024 * 1024;

/** The part of a generated method definition that a call needs. */
export interface UnaryMethod<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (value: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

export interface StreamListener<Response> {
  /** The server has taken the call. */
  readonly begun: () => void;
  readonly message: (answer: Response) => void;
  /** Called once, last. null: it ended well. */
  readonly ended: (failure: GrpcFailure | null) => void;
}

export interface CallTarget {
  /** `port.operation`, for errors. */
  readonly operation: string;
  /** The subject of the call, for errors. */
  readonly subject: string;
  /** The deadline that the client sets by itself; null: none. */
  readonly deadlineMicros: Micros | null;
  /** The text of an error: the status message alone, or as Go prints it, `rpc error: code = NotFound desc = ...`, with or without the code UNKNOWN. */
  readonly errorText?: 'with-code' | 'without-unknown';
}

export interface CriConnectionOptions {
  readonly endpoint: string;
  /** The configuration's runtimeRequestTimeout, from which all deadlines follow. */
  readonly requestTimeoutMicros: Micros;
  /** Records pods that get something created over this connection; a fresh one by default. */
  readonly created?: CreatedPods;
  /** Called after each unary call; must not throw. */
  readonly observe?: (call: CriCallObservation) => void;
  /** Follows each call; see the channel. */
  readonly trace?: ((path: string) => CallTrace) | null;
}

/** Opens nothing before the first call. Throws `EndpointError` for an endpoint that isn't a Unix socket. */
export class CriConnection {
  readonly endpoint: string;
  readonly requestTimeoutMicros: Micros;
  /** Shared by the roles on this connection: creations inform listings. */
  readonly created: CreatedPods;
  /** Separate channels for the runtime and the image service, also on one socket: a long pull must not delay a status call. */
  private readonly channel: GrpcChannel;
  private readonly observe: (call: CriCallObservation) => void;

  constructor(options: CriConnectionOptions) {
    this.observe = options.observe ?? (() => {});
    this.created = options.created ?? new CreatedPods();
    this.endpoint = options.endpoint;
    this.requestTimeoutMicros = options.requestTimeoutMicros;
    this.channel = new GrpcChannel({
      ...unixDial(socketPathOf(options.endpoint)),
      // Runtimes refuse the socket's path as authority.
      authority: 'localhost',
      userAgent: 'kubelet-ts',
      messageBytesMax: maxReceiveBytes,
      ...(options.trace == null ? {} : { trace: options.trace }),
    });
  }

  /** One request, one answer. Rejects with PortError. */
  unary<Request, Response>(method: UnaryMethod<Request, Response>, request: Request, call: Call, target: CallTarget): Promise<Response> {
    const { operation, subject } = target;
    return new Promise((resolve, reject) => {
      if (call.signal.aborted) {
        reject(cutOff(false, operation, subject));
        return;
      }
      const watch = this.watched(method.path, call, target, reject);
      const rpc = this.channel.unary(method.path, method.requestSerialize(request), watch.deadlineMillis, (failure, answer) => {
        if (!watch.settled(failure)) return;
        try {
          resolve(method.responseDeserialize(answer));
        } catch (error) {
          reject(brokenAnswer(`grpc: failed to unmarshal the received message: ${String(error)}`, operation, subject));
        }
      });
      watch.begin(() => rpc.cancel());
    });
  }

  /** A stream of answers without a deadline, until it ends or is cancelled. An answer that can't be read ends it. */
  stream<Request, Response>(method: UnaryMethod<Request, Response>, request: Request, events: StreamListener<Response>): GrpcStream {
    const rpc = this.channel.call(method.path, method.requestSerialize(request), null, {
      begun: events.begun,
      message: (message) => {
        let answer: Response;
        try {
          answer = method.responseDeserialize(message);
        } catch {
          rpc.cancel();
          return;
        }
        events.message(answer);
      },
      ended: events.ended,
    });
    return rpc;
  }

  /** All answers of a stream that ends by itself, within the time of one call. Rejects with PortError, and then nothing of it counts. */
  collect<Request, Response>(method: UnaryMethod<Request, Response>, request: Request, call: Call, target: CallTarget): Promise<Response[]> {
    const { operation, subject } = target;
    return new Promise<Response[]>((resolve, reject) => {
      if (call.signal.aborted) {
        reject(cutOff(false, operation, subject));
        return;
      }
      const watch = this.watched(method.path, call, target, reject);
      const messages: Buffer[] = [];
      const rpc = this.channel.call(method.path, method.requestSerialize(request), watch.deadlineMillis, {
        message: (message) => messages.push(message),
        ended: (failure) => {
          if (!watch.settled(failure)) return;
          try {
            resolve(messages.map((message) => method.responseDeserialize(message)));
          } catch (error) {
            reject(brokenAnswer(`grpc: failed to unmarshal the received message: ${String(error)}`, operation, subject));
          }
        },
      });
      watch.begin(() => rpc.cancel());
    });
  }

  /** What every call has: its deadline, its signal, and that it is observed and rejected in one way. */
  private watched(path: string, call: Call, target: CallTarget, reject: (error: PortError) => void) {
    const { operation, subject } = target;
    const timeout = shorter(target.deadlineMicros, call.timeoutMicros);
    const startedMs = performance.now();
    let cancel: () => void = () => {};
    const abort = () => cancel();
    return {
      deadlineMillis: timeout === null ? null : Math.ceil(timeout / 1_000),
      begin(cancelCall: () => void) {
        cancel = cancelCall;
        // One call of a port may inspect each of a pod's containers at the same time.
        if (call.signal instanceof EventTarget) setMaxListeners(0, call.signal);
        call.signal.addEventListener('abort', abort);
      },
      /** Whether there is an answer; otherwise the call was rejected. */
      settled: (failure: GrpcFailure | null): boolean => {
        call.signal.removeEventListener('abort', abort);
        const durationMicros = Math.floor((performance.now() - startedMs) * 1_000);
        this.observe({ operationType: operationTypeOf(path), durationMicros, failed: failure !== null, isUnimplemented: failure?.code === grpcStatus.UNIMPLEMENTED });
        if (failure === null) return true;
        if (call.signal.aborted) reject(cutOff(call.timeoutMicros !== null && durationMicros >= call.timeoutMicros - timerMicros, operation, subject));
        else reject(target.errorText === undefined ? portErrorOf(failure, operation, subject) : withCode(failure, target));
        return false;
      },
    };
  }

  /** Ends the connection; calls in progress fail with `unavailable` or `cancelled`. */
  close(): void {
    this.channel.close();
  }
}

function shorter(a: Micros | null, b: Micros | null): Micros | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}

/** How much before its time a timer of Node may fire. */
const timerMicros: Micros = 2_000;

/** A caller aborts a call also when its time is up, about when the call's own deadline passes; either way it was late and not unwanted. */
function cutOff(late: boolean, operation: string, subject: string): PortError {
  return new PortError({ kind: late ? 'deadline-exceeded' : 'cancelled', message: late ? 'context deadline exceeded' : 'context canceled', operation, subject });
}

function withCode(error: GrpcFailure, { operation, subject, errorText }: CallTarget): PortError {
  const { kind } = portErrorOf(error, operation, subject);
  const message = errorText === 'without-unknown' ? goErrorText(error) : wholeGoErrorText(error);
  return new PortError({ kind, message, operation, subject, cause: error });
}

/** The error for an answer that violates the protocol. */
export function brokenAnswer(message: string, operation: string, subject: string): PortError {
  return new PortError({ kind: 'internal', message, operation, subject });
}
