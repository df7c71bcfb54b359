// A request of a connection and the data received for it. Data only: the connection sends and receives.
import type { FrameWindow } from './frame-window.js';

/** How a request ended: answered whole, reset by the peer, or with the connection. */
export type StreamEnd = { readonly how: 'whole' } | { readonly how: 'reset'; readonly code: number } | { readonly how: 'connection' };

export interface StreamEvents {
  /** A block of headers: that of the answer, then perhaps its trailers. */
  headers(headers: ReadonlyMap<string, string>): void;
  data(bytes: Buffer): void;
  /** Called once, last; not after a cancel. */
  ended(end: StreamEnd): void;
}

export interface Stream {
  /** 0: it waits until the peer takes one more. */
  id: number;
  readonly events: StreamEvents;
  /** The header block, until it is sent. */
  readonly headers: Buffer;
  /** The unsent part of the request's body. */
  body: Buffer;
  /** Whether the end of the request is sent. */
  isSent: boolean;
  readonly window: FrameWindow;
  /** Whether the caller paused the answer: the peer's window isn't enlarged. */
  isHeld: boolean;
  /** The remaining send window. May be negative, after a change of the peer's settings. */
  sendable: number;
}
