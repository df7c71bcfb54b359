// The public exports of the streaming adapter: WebSocket for clients, SPDY/3.1 towards runtimes and in tunnels.
export {
  type CommandOutcome,
  type CommandSession,
  type CommandWishes,
  channelProtocols,
  commandProtocols,
  commandVersion,
  ended,
  outcomeText,
  readSizes,
  type TerminalSize,
  webSocketCommand,
  webSocketProtocol,
} from './remote-command.js';
export { SpdyConnection, type SpdyConnectionOptions } from './spdy-connection.js';
export { dialSpdy, type SpdyDialed, type SpdyDialOptions } from './spdy-dial.js';
export { type SpdyFrame, SpdyFrameReader, SpdyProtocolError } from './spdy-frames.js';
export { SpdyHeaderReader, type SpdyHeaders, SpdyHeaderWriter } from './spdy-headers.js';
export type { SpdyStream } from './spdy-stream.js';
export { closableChannels, outcomeOf, translateCommand } from './translate-command.js';
export { offeredInTunnel, type TunnelRefusal, tunnelSpdy } from './tunnel-spdy.js';
export { spdyUpgrade } from './upgrade.js';
export { acceptChannels, acceptTunnel, offeredProtocols, type WebSocketChannels } from './web-socket.js';
export { WriteGate } from './write-gate.js';
