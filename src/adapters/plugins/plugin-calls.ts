// One call to a plugin at a Unix socket, on a connection of its own: plugins are restarted, and an old connection would outlive the socket.
// Invariant: the connection is closed whatever happens; what goes wrong is a PortError with the plugin's own status code.
import { connect } from 'node:net';
import type { Call } from '../../ports/operation.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { GrpcChannel, type GrpcFailure, grpcCodeName, grpcStatus } from '../grpc/index.js';

/** As much as gRPC takes by default. */
const messageBytesMax = 4 * 1024 * 1024;
const microsPerMilli = 1000;

/** A method as the generated services have it. */
export interface PluginMethod<Request, Reply> {
  readonly path: string;
  readonly requestSerialize: (value: Request) => Buffer;
  readonly responseDeserialize: (value: Buffer) => Reply;
}

export interface PluginCall<Request, Reply> {
  readonly method: PluginMethod<Request, Reply>;
  readonly socket: string;
  readonly request: Request;
  /** Where the caller gives no time. */
  readonly timeoutMillis: number;
  /** `port.operation`. */
  readonly operation: string;
}

export async function callPlugin<Request, Reply>(
  { method, socket, request, timeoutMillis, operation }: PluginCall<Request, Reply>,
  { signal, timeoutMicros }: Call,
): Promise<Reply> {
  if (signal.aborted) throw new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject: socket });
  const channel = new GrpcChannel({
    dial: () => connect({ path: socket }),
    dialProblem: (error) => `dial unix ${socket}: connect: ${connectProblem(error)}`,
    authority: 'localhost',
    userAgent: 'kubelet-ts',
    messageBytesMax,
  });
  let abort: () => void = () => {};
  try {
    const millis = timeoutMicros === null ? timeoutMillis : Math.min(timeoutMillis, timeoutMicros / microsPerMilli);
    return await new Promise<Reply>((resolve, reject) => {
      const call = channel.unary(method.path, method.requestSerialize(request), millis, (failure, answer) => {
        if (failure !== null) reject(pluginError(failure, operation, socket));
        else resolve(decoded(method, answer, operation, socket));
      });
      abort = () => call.cancel();
      signal.addEventListener('abort', abort);
    });
  } finally {
    signal.removeEventListener('abort', abort);
    channel.close();
  }
}

function decoded<Request, Reply>(method: PluginMethod<Request, Reply>, answer: Buffer, operation: string, subject: string): Reply {
  try {
    return method.responseDeserialize(answer);
  } catch (error) {
    throw new PortError({ kind: 'internal', message: `rpc error: code = Internal desc = the answer is no message: ${String(error)}`, operation, subject, cause: error });
  }
}

/** With the text that Go prints. */
function pluginError(failure: GrpcFailure, operation: string, subject: string): PortError {
  const name = grpcCodeName(failure.code);
  const text = failure.code === grpcStatus.DEADLINE_EXCEEDED ? 'context deadline exceeded' : failure.details;
  return new PortError({ kind: kindOf(name), message: `rpc error: code = ${name} desc = ${text}`, operation, subject, cause: failure });
}

/** `DeadlineExceeded` is `deadline-exceeded`. */
function kindOf(codeName: string): PortErrorKind {
  if (codeName === 'Canceled') return 'cancelled';
  return codeName.replaceAll(/(?!^)[A-Z]/g, '-$&').toLowerCase() as PortErrorKind;
}

function connectProblem(error: Error): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return 'no such file or directory';
    case 'ECONNREFUSED':
      return 'connection refused';
    case 'EACCES':
      return 'permission denied';
    default:
      return error.message;
  }
}
