// One gRPC channel to a runtime's socket, and the one way in which a unary call is made over it.
//
// Invariants: a call is never retried and never waits for a socket that is down; it ends by its answer, by its deadline or by its
// signal, whichever is first; it rejects with PortError only.
import { setMaxListeners } from 'node:events';
import { type ChannelOptions, Client, type ClientReadableStream, type ClientUnaryCall, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import type { Micros } from '../../ports/micros.js';
import type { Call } from '../../ports/operation.js';
import { PortError } from '../../ports/port-error.js';
import { CreatedPods } from './created-pods.js';
import { socketPathOf } from './endpoint.js';
import { goErrorText, portErrorOf } from './grpc-errors.js';
import { operationTypeOf } from './operation-types.js';

/** Largest answer that is taken, as the kubelet's client has it. */
export const maxReceiveBytes = 16 * 1024 * 1024;

const channelOptions: ChannelOptions = {
  // Runtimes refuse the socket's path as authority.
  'grpc.default_authority': 'localhost',
  'grpc.max_receive_message_length': maxReceiveBytes,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3_000,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // The runtime and the image service get a connection each, also on one socket: a long pull must not stand before a status call.
  'grpc.use_local_subchannel_pool': 1,
  // A list of hundreds of containers is larger than HTTP/2's first window of 64 KiB; with it each list would wait for window updates.
  'grpc-node.flow_control_window': 1024 * 1024,
};

/** The part of a generated method definition that a call needs. */
export interface UnaryMethod<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (value: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

export interface CallTarget {
  /** `port.operation`, for errors. */
  readonly operation: string;
  /** What the call is about, for errors. */
  readonly subject: string;
  /** The deadline that the client sets by itself; null: none. */
  readonly deadlineMicros: Micros | null;
  /** Whether an error's message carries its code (but UNKNOWN), because people match on that text. */
  readonly messageWithCode?: boolean;
}

export interface CriConnectionOptions {
  readonly endpoint: string;
  /** The configuration's runtimeRequestTimeout, from which all deadlines follow. */
  readonly requestTimeoutMicros: Micros;
  /** Told of what is created over this connection; a fresh one unless given. */
  readonly created?: CreatedPods;
  /** Told of each unary call that has ended; must not throw. */
  readonly observe?: (call: CriCallObservation) => void;
}

export interface CriCallObservation {
  /** The kubelet's name of the operation in its metrics, such as `run_podsandbox`. */
  readonly operationType: string;
  readonly durationMicros: Micros;
  readonly failed: boolean;
}

/** Opens nothing before the first call. Throws `EndpointError` for an endpoint that isn't a Unix socket. */
export class CriConnection {
  readonly endpoint: string;
  readonly requestTimeoutMicros: Micros;
  /** Shared by the roles that speak over this connection: who creates tells who lists. */
  readonly created: CreatedPods;
  private readonly client: Client;
  private readonly observe: (call: CriCallObservation) => void;

  constructor(options: CriConnectionOptions) {
    this.observe = options.observe ?? (() => {});
    this.created = options.created ?? new CreatedPods();
    this.endpoint = options.endpoint;
    this.requestTimeoutMicros = options.requestTimeoutMicros;
    this.client = new Client(`unix:${socketPathOf(options.endpoint)}`, credentials.createInsecure(), channelOptions);
  }

  /** One request, one answer. Rejects with PortError. */
  unary<Request, Response>(method: UnaryMethod<Request, Response>, request: Request, call: Call, target: CallTarget): Promise<Response> {
    const { operation, subject } = target;
    return new Promise((resolve, reject) => {
      if (call.signal.aborted) {
        reject(cutOff(false, operation, subject));
        return;
      }
      const timeout = shorter(target.deadlineMicros, call.timeoutMicros);
      let rpc: ClientUnaryCall | null = null;
      const abort = () => rpc?.cancel();
      const startedMs = performance.now();
      const settle = (error: ServiceError | null, response?: Response) => {
        call.signal.removeEventListener('abort', abort);
        const durationMicros = Math.floor((performance.now() - startedMs) * 1_000);
        this.observe({ operationType: operationTypeOf(method.path), durationMicros, failed: error !== null });
        if (error === null) resolve(response as Response);
        else if (call.signal.aborted) reject(cutOff(call.timeoutMicros !== null && durationMicros >= call.timeoutMicros - timerMicros, operation, subject));
        else reject(target.messageWithCode === true ? withCode(error, operation, subject) : portErrorOf(error, operation, subject));
      };
      // One call of a port may ask the runtime about each of a pod's containers at the same time.
      if (call.signal instanceof EventTarget) setMaxListeners(0, call.signal);
      call.signal.addEventListener('abort', abort);
      const options = timeout === null ? {} : { deadline: Date.now() + Math.ceil(timeout / 1_000) };
      rpc = this.client.makeUnaryRequest(method.path, method.requestSerialize, method.responseDeserialize, request, new Metadata(), options, settle);
    });
  }

  /** A stream of answers without a deadline; the caller listens to `data`, `error` and `end`, and cancels it. */
  stream<Request, Response>(method: UnaryMethod<Request, Response>, request: Request): ClientReadableStream<Response> {
    return this.client.makeServerStreamRequest(method.path, method.requestSerialize, method.responseDeserialize, request, new Metadata(), {});
  }

  /** All answers of a stream that ends by itself, within the time of one call. Rejects with PortError, and then nothing of it counts. */
  collect<Request, Response>(method: UnaryMethod<Request, Response>, request: Request, call: Call, target: CallTarget): Promise<Response[]> {
    const { operation, subject } = target;
    if (call.signal.aborted) return Promise.reject(cutOff(false, operation, subject));
    const timeout = shorter(target.deadlineMicros, call.timeoutMicros);
    const options = timeout === null ? {} : { deadline: Date.now() + Math.ceil(timeout / 1_000) };
    const startedMs = performance.now();
    const rpc = this.client.makeServerStreamRequest(method.path, method.requestSerialize, method.responseDeserialize, request, new Metadata(), options);
    const abort = () => rpc.cancel();
    call.signal.addEventListener('abort', abort);
    return new Promise<Response[]>((resolve, reject) => {
      const answers: Response[] = [];
      let isSettled = false;
      const settle = (error: ServiceError | null) => {
        // The stream ends after an error, too.
        if (isSettled) return;
        isSettled = true;
        call.signal.removeEventListener('abort', abort);
        const durationMicros = Math.floor((performance.now() - startedMs) * 1_000);
        this.observe({ operationType: operationTypeOf(method.path), durationMicros, failed: error !== null });
        if (error === null) resolve(answers);
        else if (call.signal.aborted) reject(cutOff(call.timeoutMicros !== null && durationMicros >= call.timeoutMicros - timerMicros, operation, subject));
        else reject(portErrorOf(error, operation, subject));
      };
      rpc.on('data', (answer: Response) => answers.push(answer));
      rpc.on('error', (error: ServiceError) => settle(error));
      rpc.on('end', () => settle(null));
    });
  }

  /** Ends the connection; calls under way fail with `unavailable` or `cancelled`. */
  close(): void {
    this.client.close();
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

function withCode(error: ServiceError, operation: string, subject: string): PortError {
  const { kind } = portErrorOf(error, operation, subject);
  return new PortError({ kind, message: goErrorText(error), operation, subject, cause: error });
}

/** What an answer that breaks the protocol becomes. */
export function brokenAnswer(message: string, operation: string, subject: string): PortError {
  return new PortError({ kind: 'internal', message, operation, subject });
}
