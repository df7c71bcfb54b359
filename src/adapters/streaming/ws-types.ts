// The part of the package ws that is used here; the package brings no types of its own.
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex, DuplexOptions } from 'node:stream';

export interface WebSocket extends EventEmitter {
  readonly readyState: number;
  send(data: Uint8Array | string, options: { readonly binary: boolean }, done: (error?: Error) => void): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
  pause(): void;
  resume(): void;
  on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): this;
  on(event: 'close', listener: () => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
}

export interface WebSocketServer extends EventEmitter {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, done: (socket: WebSocket) => void): void;
}

export interface WebSocketServerOptions {
  readonly noServer: true;
  readonly clientTracking: false;
  readonly maxPayload: number;
  readonly perMessageDeflate: false;
  /** In milliseconds: for the client, after the server has closed, to do the same. */
  readonly closeTimeout: number;
}

export interface WsPackage {
  readonly WebSocket: { readonly OPEN: number };
  readonly WebSocketServer: new (options: WebSocketServerOptions) => WebSocketServer;
  createWebSocketStream(socket: WebSocket, options?: DuplexOptions): Duplex;
}
