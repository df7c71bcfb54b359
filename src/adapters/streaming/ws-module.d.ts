// The part of ws that is used here; the package brings no types of its own.
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage } from 'node:http';
  import type { Duplex, DuplexOptions } from 'node:stream';

  export class WebSocket extends EventEmitter {
    readonly bufferedAmount: number;
    readonly readyState: number;
    static readonly OPEN: number;
    send(data: Uint8Array | string, options: { readonly binary: boolean }, done: (error?: Error) => void): void;
    close(code?: number, reason?: string): void;
    terminate(): void;
    pause(): void;
    resume(): void;
    on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): this;
    on(event: 'close', listener: () => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: {
      readonly noServer: true;
      readonly clientTracking: false;
      readonly maxPayload: number;
      readonly perMessageDeflate: false;
      readonly handleProtocols: (offered: Set<string>) => string | false;
    });
    handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, done: (socket: WebSocket) => void): void;
  }

  export function createWebSocketStream(socket: WebSocket, options?: DuplexOptions): Duplex;
}
