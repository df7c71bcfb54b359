// A request of a connection and what has come for it. Data only: who sends and receives is the connection.
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
  /** What of the request's body isn't sent yet. */
  body: Buffer;
  /** Whether the end of the request is sent. */
  isSent: boolean;
  readonly window: FrameWindow;
  /** Whether whoever asked wants no more for now: the peer's window isn't enlarged. */
  isHeld: boolean;
  /** What of the peer's window is left for us to send. May be negative, after a change of the peer's settings. */
  sendable: number;
}
