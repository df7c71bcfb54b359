// The face of the HTTP/2 client; see connection.ts.
export { Http2Connection, type Http2Request } from './connection.js';
export { Http2ProtocolError, http2Error } from './frames.js';
export { headerBlock } from './header-encoder.js';
export type { LivenessLimits } from './liveness.js';
export type { StreamEnd, StreamEvents } from './streams.js';
