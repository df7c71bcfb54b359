// One call to a plugin at a Unix socket, on a connection of its own: plugins are restarted, and an old connection would outlive the socket.
// Invariant: the connection is always closed; an error is a PortError with the plugin's own status code.
import type { Call } from '../../ports/operation.js';
import { PortError } from '../../ports/port-error.js';
import { GrpcChannel, type GrpcFailure, grpcCodeName, portErrorKindOf, statusMessage, unixDial } from '../grpc/index.js';

/** gRPC's default limit. */
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
  /** The default time limit. */
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
    ...unixDial(socket),
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

/** With Go's text. */
function pluginError(failure: GrpcFailure, operation: string, subject: string): PortError {
  const name = grpcCodeName(failure.code);
  return new PortError({ kind: portErrorKindOf(failure.code), message: `rpc error: code = ${name} desc = ${statusMessage(failure)}`, operation, subject, cause: failure });
}
