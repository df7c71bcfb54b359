// The server's side of a WebSocket (RFC 6455, by the package ws): its handshake with one of the offered sub-protocols, and its channels,
// as Kubernetes numbers them: the first byte of a message names the stream of the rest.
//
// | sub-protocol                 | messages                                                                    |
// |------------------------------|-----------------------------------------------------------------------------|
// | (none), channel.k8s.io, v4.  | bytes                                                                       |
// | base64.channel.k8s.io, v4.   | text: a digit for the channel, the rest in base 64                          |
// | v5.channel.k8s.io            | bytes; 255 and a channel: the client writes nothing more to that one        |
//
// Invariants: a slow reader slows the client; a message is at most `messageBytesMax` long; the client's end of any kind ends
// every channel, and its earlier input stays readable; a message adds no listener, no timer and no closure.
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
// @ts-expect-error: the package has no types; ws-types declares the used part
import * as ws from 'ws';
import { unreadMillis } from './spdy-connection.js';
import type { WebSocket, WsPackage } from './ws-types.js';

const { createWebSocketStream, WebSocketServer, WebSocket: states }: WsPackage = ws;

export interface ChannelProtocol {
  readonly base64: boolean;
  /** Whether a client can end one channel. */
  readonly ends: boolean;
}

/** The limit of Go's library. */
export const messageBytesMax = 32 * 1024 * 1024;
const channelBytes = 64 * 1024;
const endOfChannel = 255;
const normalClosure = 1000;
const textMessage = { binary: false };
const binaryMessage = { binary: true };

/**
 * null: the handshake was refused, with an answer. The sub-protocol is removed from the request and answered here, since names such as
 * `SPDY/3.1+portforward.k8s.io` are invalid by RFC 6455, which ws enforces.
 * @param protocol the chosen sub-protocol; '' for none
 */
function accept(request: IncomingMessage, socket: Duplex, head: Buffer, protocol: string): Promise<WebSocket | null> {
  const server = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: messageBytesMax, perMessageDeflate: false, closeTimeout: unreadMillis });
  server.on('headers', (headers: string[]) => {
    if (protocol !== '') headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  delete request.headers['sec-websocket-protocol'];
  return new Promise((resolve) => {
    socket.once('close', () => resolve(null));
    server.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => webSocket.terminate());
      resolve(webSocket);
    });
  });
}

/** Sub-protocols that a client offers, in its order. */
export function offeredProtocols({ headers }: Pick<IncomingMessage, 'headers'>): readonly string[] {
  return (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** A WebSocket whose messages form a stream of bytes; message boundaries don't matter. null: refused. */
export async function acceptTunnel(request: IncomingMessage, socket: Duplex, head: Buffer, protocol: string): Promise<Duplex | null> {
  const webSocket = await accept(request, socket, head, protocol);
  return webSocket === null ? null : createWebSocketStream(webSocket, { readableHighWaterMark: channelBytes, writableHighWaterMark: channelBytes });
}

export async function acceptChannels(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  name: string,
  protocol: ChannelProtocol,
  count: number,
): Promise<WebSocketChannels | null> {
  const webSocket = await accept(request, socket, head, name);
  return webSocket === null ? null : new WebSocketChannels(webSocket, protocol, count);
}

export class WebSocketChannels {
  readonly closed: Promise<void>;
  private readonly channels: readonly Channel[];
  private readonly behind = new Set<Channel>();

  constructor(
    private readonly webSocket: WebSocket,
    private readonly protocol: ChannelProtocol,
    count: number,
  ) {
    this.channels = Array.from({ length: count }, (_, number) => new Channel(number, this));
    this.closed = new Promise((resolve) => webSocket.on('close', resolve));
    webSocket.on('close', () => {
      for (const channel of this.channels) channel.endOfInput();
    });
    webSocket.on('message', (message) => this.received(message));
  }

  channel(number: number): Duplex {
    const channel = this.channels[number];
    if (channel === undefined) throw new RangeError(`there is no channel ${number}`);
    return channel;
  }

  /** Pending output is sent first. */
  close(): void {
    this.webSocket.resume();
    this.webSocket.close(normalClosure);
  }

  terminate(): void {
    this.webSocket.terminate();
  }

  send(channel: Channel, bytes: Buffer, done: (error?: Error | null) => void): void {
    if (this.webSocket.readyState !== states.OPEN) {
      // A failed write would discard unread data.
      done(channel.readableLength > 0 ? null : new Error('the connection is closed'));
      return;
    }
    if (this.protocol.base64) {
      this.webSocket.send(`${channel.number}${bytes.toString('base64')}`, textMessage, done);
      return;
    }
    const message = Buffer.allocUnsafe(bytes.length + 1);
    message[0] = channel.number;
    message.set(bytes, 1);
    this.webSocket.send(message, binaryMessage, done);
  }

  consumed(channel: Channel): void {
    if (this.behind.delete(channel) && this.behind.size === 0) this.webSocket.resume();
  }

  private received(message: Buffer): void {
    const { base64, ends } = this.protocol;
    if (message.length === 0) return;
    const first = message[0] as number;
    if (ends && first === endOfChannel) {
      this.channels[message[1] ?? this.channels.length]?.endOfInput();
      return;
    }
    const channel = this.channels[base64 ? first - 0x30 : first];
    // Drops input for unknown channels.
    if (channel === undefined || message.length === 1) return;
    const bytes = base64 ? Buffer.from(message.toString('latin1', 1), 'base64') : Buffer.from(message.subarray(1));
    if (channel.arrived(bytes)) return;
    this.behind.add(channel);
    this.webSocket.pause();
  }
}

class Channel extends Duplex {
  private inputEnded = false;

  constructor(
    readonly number: number,
    private readonly channels: WebSocketChannels,
  ) {
    super({ allowHalfOpen: true, readableHighWaterMark: channelBytes, writableHighWaterMark: channelBytes });
    this.on('error', () => {});
  }

  /** false: its reader is behind. */
  arrived(bytes: Buffer): boolean {
    return this.inputEnded || this.destroyed || this.push(bytes);
  }

  endOfInput(): void {
    if (this.destroyed || this.inputEnded) return;
    this.inputEnded = true;
    this.push(null);
  }

  override _read(): void {
    this.channels.consumed(this);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.channels.send(this, chunk, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.channels.consumed(this);
    done(error);
  }
}
