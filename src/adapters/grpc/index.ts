// The face of the gRPC client; see channel.ts.
export { GrpcChannel, type GrpcChannelOptions, type GrpcStream } from './channel.js';
export { GrpcFailure, grpcCodeName, grpcStatus } from './status.js';
