// The peer's settings (RFC 9113, section 6.5).
import { windowBytesMax } from './frame-rules.js';
import { defaultFrameBytes, Http2ProtocolError, http2Error, setting } from './frames.js';

export interface PeerSettings {
  /** Requests at once. */
  readonly streamsMax: number;
  /** Window of a new stream. */
  readonly windowBytes: number;
  readonly frameBytes: number;
}

const frameBytesMax = 0xff_ff_ff;

/** The settings after a frame of them. Throws Http2ProtocolError. */
export function settingsOf(payload: Buffer, before: PeerSettings): PeerSettings {
  if (payload.length % 6 !== 0) throw new Http2ProtocolError(http2Error.frameSizeError, 'settings of an odd length');
  let { streamsMax, windowBytes, frameBytes } = before;
  for (let at = 0; at < payload.length; at += 6) {
    const value = payload.readUInt32BE(at + 2);
    const name = payload.readUInt16BE(at);
    if (name === setting.maxConcurrentStreams) streamsMax = value;
    else if (name === setting.initialWindowSize) windowBytes = within(value, 0, windowBytesMax, http2Error.flowControlError);
    else if (name === setting.maxFrameSize) frameBytes = within(value, defaultFrameBytes, frameBytesMax, http2Error.protocolError);
  }
  return { streamsMax, windowBytes, frameBytes };
}

function within(value: number, min: number, max: number, code: number): number {
  if (value < min || value > max) throw new Http2ProtocolError(code, `a setting of ${value}`);
  return value;
}
