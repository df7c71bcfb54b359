// Clients of long streams: a command or a forwarded port as a pair of streams, in SPDY, in WebSocket channels and in a tunnel of SPDY through a WebSocket, with
// readers that are late, slow or read in bursts, and pings meanwhile.
import { createHash, type Hash, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { type Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { SpdyConnection } from '../../src/adapters/streaming/index.js';
import { spdy, textOf, upgrade } from './stream-client.js';

export interface LongStream {
  readonly input: Writable;
  readonly output: Readable;
  /** What the error stream said, once it has ended. */
  readonly said: Promise<string>;
  ping(): void;
  close(): void;
}

export type Protocol = 'spdy' | 'v4' | 'v5' | 'tunnel';

interface ClientSocket {
  readonly readyState: number;
  on(event: 'message', listener: (message: Buffer) => void): unknown;
  on(event: 'close' | 'error' | 'open', listener: (reason: Error) => void): unknown;
  send(data: Uint8Array, done: (error?: Error | null) => void): void;
  ping(): void;
  close(): void;
  terminate(): void;
  _isServer: boolean;
  setSocket(socket: Duplex, head: Buffer, options: object): void;
  pause(): void;
  resume(): void;
}

const { WebSocket, createWebSocketStream } = createRequire(import.meta.url)('ws') as {
  readonly WebSocket: new (url: string | null, protocols?: readonly string[], options?: object) => ClientSocket;
  createWebSocketStream(socket: ClientSocket): Duplex;
};

function socketAt(url: string, protocol: string): Promise<ClientSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), [protocol]);
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => {
      // Its first messages arrive before the awaiting caller resumes.
      socket.pause();
      resolve(socket);
    });
  });
}

/** @param skipped bytes at the beginning of each channel that are none of the stream's */
async function channelStream(url: string, version: 'v4' | 'v5', outputChannel: number, errorChannel: number, skipped: number): Promise<LongStream> {
  const socket = await socketAt(url, `${version}.channel.k8s.io`);
  const left = new Map<number, number>();
  const readable = (channel: number): Readable => {
    left.set(channel, skipped);
    const stream = new Readable({ highWaterMark: 256 * 1024, read: () => socket.resume() });
    socket.on('close', () => stream.push(null));
    return stream;
  };
  const channels = new Map([outputChannel, errorChannel].map((channel) => [channel, readable(channel)]));
  socket.on('message', (message) => {
    const channel = message[0] ?? 0;
    const skip = Math.min(left.get(channel) ?? 0, message.length - 1);
    left.set(channel, (left.get(channel) ?? 0) - skip);
    if (message.length > 1 + skip && channels.get(channel)?.push(message.subarray(1 + skip)) === false) socket.pause();
  });
  socket.resume();
  const input = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState === 1) socket.send(Buffer.concat([Buffer.from([0]), chunk]), done);
      else done();
    },
    final(done) {
      if (version === 'v5' && socket.readyState === 1) socket.send(Buffer.from([255, 0]), done);
      else done();
    },
  });
  return {
    input,
    output: channels.get(outputChannel) as Readable,
    said: textOf(channels.get(errorChannel) as Readable),
    ping: () => (socket.readyState === 1 ? socket.ping() : undefined),
    close: () => socket.close(),
  };
}

/** By hand: the name of its sub-protocol is none by the letter of RFC 6455, and the package's client keeps to that. */
async function tunnelled(url: string): Promise<SpdyConnection> {
  const protocol = 'SPDY/3.1+portforward.k8s.io';
  const key = randomBytes(16).toString('base64');
  const answer = await upgrade(url, { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': key, 'Sec-WebSocket-Protocol': protocol }, 'GET');
  if ('status' in answer) throw new Error(`refused: ${answer.status} ${answer.body}`);
  const socket = new WebSocket(null, undefined, { closeTimeout: 30_000 });
  // A socket without an address is a server's, whose messages aren't masked.
  socket._isServer = false;
  socket.setSocket(answer.socket, answer.head, { allowSynchronousEvents: true, maxPayload: 0, skipUTF8Validation: true });
  return new SpdyConnection(createWebSocketStream(socket), { role: 'client' });
}

/** A command with input and output. */
export async function commandStream(url: string, protocol: Protocol): Promise<LongStream> {
  if (protocol === 'v4' || protocol === 'v5') return channelStream(url, protocol, 1, 3, 0);
  const connection = await spdy(url, 'v4.channel.k8s.io');
  const error = await connection.open({ streamtype: 'error' });
  error.end();
  const input = await connection.open({ streamtype: 'stdin' });
  const output = await connection.open({ streamtype: 'stdout' });
  output.end();
  input.resume();
  return { input, output, said: textOf(error), ping: () => void connection.ping(), close: () => connection.close() };
}

/** One connection to a port; v4 has its ports in the URL. */
export async function portStream(url: string, protocol: Protocol, port: number): Promise<LongStream> {
  if (protocol === 'v4' || protocol === 'v5') return channelStream(url, 'v4', 0, 1, 2);
  const connection = protocol === 'tunnel' ? await tunnelled(url) : await spdy(url, 'portforward.k8s.io');
  const error = await connection.open({ streamtype: 'error', port: String(port), requestid: '0' });
  error.end();
  const data = await connection.open({ streamtype: 'data', port: String(port), requestid: '0' });
  return { input: data, output: data, said: textOf(error), ping: () => void connection.ping(), close: () => connection.close() };
}

/** Bytes that differ at every cut or swap. */
export function* pattern(bytes: number): Generator<Buffer> {
  const block = Buffer.alloc(64 * 1024);
  for (let at = 0; at < bytes; at += block.length) {
    for (let i = 0; i < block.length; i += 4) block.writeUInt32LE(((at + i) * 2_654_435_761) >>> 0, i);
    yield Buffer.from(block.subarray(0, Math.min(block.length, bytes - at)));
  }
}

const digests = new Map<number, string>();

export function digestOf(bytes: number): string {
  const known = digests.get(bytes) ?? computed(bytes);
  digests.set(bytes, known);
  return known;
}

function computed(bytes: number): string {
  const hash = createHash('sha256');
  for (const block of pattern(bytes)) hash.update(block);
  return hash.digest('hex');
}

/** Resolves when all of it is on its way. */
export function writePattern(input: Writable, bytes: number): Promise<void> {
  const blocks = Readable.from(pattern(bytes), { objectMode: false, highWaterMark: 64 * 1024 });
  return new Promise((resolve) => {
    blocks.once('end', resolve);
    input.once('close', resolve);
    blocks.pipe(input, { end: false });
  });
}

export type Reader = 'late' | 'slow' | 'bursts';
export const readers: readonly Reader[] = ['late', 'slow', 'bursts'];

export interface Taken {
  readonly bytes: number;
  readonly digest: string;
}

/** Reads until the end, or all that is expected. */
export async function readAs(reader: Reader, output: Readable, expected: number, lateMillis: number): Promise<Taken> {
  if (reader === 'late') await delay(lateMillis);
  const hash: Hash = createHash('sha256');
  let bytes = 0;
  let pauseAt = 0;
  const every = reader === 'slow' ? expected / 64 : expected / 8;
  for await (const chunk of output.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length;
    hash.update(chunk as Buffer);
    if (bytes >= expected) break;
    if (reader === 'late' || bytes < pauseAt) continue;
    pauseAt = bytes + every;
    await delay(reader === 'slow' ? lateMillis / 64 : lateMillis / 8);
  }
  return { bytes, digest: hash.digest('hex') };
}
