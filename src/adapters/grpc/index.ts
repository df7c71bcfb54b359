// The public exports of the gRPC client, and the parts that it shares with the @grpc/grpc-js servers; see channel.ts.
export type { CallTrace } from './call-trace.js';
export { GrpcChannel, type GrpcChannelOptions, type GrpcStream } from './channel.js';
export { grpcCodeOf, portErrorKindOf, statusMessage } from './port-errors.js';
export { GrpcFailure, grpcCodeName, grpcStatus } from './status.js';
export { type StoppableServer, stopServer } from './stop-server.js';
export { unixDial } from './unix-dial.js';
