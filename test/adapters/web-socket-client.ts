// A WebSocket client for tests, of channels as Kubernetes numbers them: the one of the package ws.
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';

interface ClientSocket extends EventEmitter {
  readonly protocol: string;
  send(data: Uint8Array | string): void;
  close(): void;
  terminate(): void;
}

const { WebSocket } = createRequire(import.meta.url)('ws') as { readonly WebSocket: new (url: string, protocols: readonly string[]) => ClientSocket };

export interface Channels {
  readonly socket: ClientSocket;
  readonly protocol: string;
  /** What came so far on a channel. */
  text(channel: number): string;
  bytes(channel: number): Buffer;
  send(channel: number, bytes: Uint8Array | string): void;
  /** 255 and the channel. */
  end(channel: number): void;
  /** Why the server closed. */
  readonly closed: Promise<number>;
}

/** Rejects for a refusal. */
export function channelsAt(url: string, protocols: readonly string[]): Promise<Channels> {
  const socket = new WebSocket(url, protocols);
  const isBase64 = () => socket.protocol.includes('base64');
  const got = new Map<number, Buffer[]>();
  socket.on('message', (message: Buffer) => {
    const channel = isBase64() ? (message[0] ?? 0) - 0x30 : (message[0] ?? 0);
    const bytes = isBase64() ? Buffer.from(message.toString('latin1', 1), 'base64') : message.subarray(1);
    got.set(channel, [...(got.get(channel) ?? []), bytes]);
  });
  const bytes = (channel: number) => Buffer.concat(got.get(channel) ?? []);
  return new Promise((resolve, reject) => {
    const closed = new Promise<number>((done) => socket.once('close', (code: number) => done(code)));
    socket.once('error', reject);
    socket.once('open', () => {
      socket.on('error', () => {});
      resolve({
        socket,
        protocol: socket.protocol,
        text: (channel) => bytes(channel).toString('utf8'),
        bytes,
        send: (channel, data) => socket.send(isBase64() ? `${channel}${Buffer.from(data).toString('base64')}` : Buffer.concat([Buffer.from([channel]), Buffer.from(data)])),
        end: (channel) => socket.send(Buffer.from([255, channel])),
        closed,
      });
    });
  });
}
