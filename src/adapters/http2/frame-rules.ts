// RFC 9113's rules for single frames: which stream one may belong to, its length, and the limit of a window.
// Invariant: every frame is checked before it takes effect. Frames of unknown types pass: they are ignored (section 4.1).
import { type Frame, flag, frameType, Http2ProtocolError, http2Error, violation } from './frames.js';

/** Sections 6.9.1 and 6.5.2. */
export const windowBytesMax = 0x7f_ff_ff_ff;

interface FrameRule {
  readonly name: string;
  /** Whether it belongs to the connection as a whole (stream 0), to one stream, or to either. */
  readonly belongsTo: 'connection' | 'stream' | 'either';
  /** null: any length. */
  readonly payloadBytes: number | null;
}

/** By type; sections 6.1 to 6.10. */
const rules: readonly FrameRule[] = [
  { name: 'DATA', belongsTo: 'stream', payloadBytes: null },
  { name: 'HEADERS', belongsTo: 'stream', payloadBytes: null },
  { name: 'PRIORITY', belongsTo: 'stream', payloadBytes: 5 },
  { name: 'RST_STREAM', belongsTo: 'stream', payloadBytes: 4 },
  { name: 'SETTINGS', belongsTo: 'connection', payloadBytes: null },
  { name: 'PUSH_PROMISE', belongsTo: 'stream', payloadBytes: null },
  { name: 'PING', belongsTo: 'connection', payloadBytes: 8 },
  { name: 'GOAWAY', belongsTo: 'connection', payloadBytes: null },
  { name: 'WINDOW_UPDATE', belongsTo: 'either', payloadBytes: 4 },
  { name: 'CONTINUATION', belongsTo: 'stream', payloadBytes: null },
];

/** Throws Http2ProtocolError, which ends the connection. @param nextStream the first stream that was not opened yet */
export function checkFrame({ type, flags, stream, payload }: Frame, nextStream: number): void {
  const rule = rules[type];
  if (rule === undefined) return;
  const { name, belongsTo, payloadBytes } = rule;
  if (belongsTo === 'connection' && stream !== 0) throw violation(`${name} on stream ${stream}`);
  if (belongsTo === 'stream' && stream === 0) throw violation(`${name} on stream 0`);
  // The peer opens no streams, and may give any stream a priority (section 5.1).
  if (stream >= nextStream && type !== frameType.priority) throw violation(`${name} on stream ${stream}, which is idle`);
  if (payloadBytes !== null && payload.length !== payloadBytes) throw sizeError(name, payload);
  if (type === frameType.settings && (flags & flag.ack) !== 0 && payload.length > 0) throw sizeError('an acknowledgement of SETTINGS', payload);
  if (type === frameType.goaway && payload.length < 8) throw sizeError(name, payload);
}

function sizeError(name: string, payload: Buffer): Http2ProtocolError {
  return new Http2ProtocolError(http2Error.frameSizeError, `${name} of ${payload.length} bytes`);
}

/** The error code if a window of this size may not grow by this much; otherwise null. */
export function enlargeProblem(sendable: number, more: number): number | null {
  if (more === 0) return http2Error.protocolError;
  return sendable + more > windowBytesMax ? http2Error.flowControlError : null;
}
