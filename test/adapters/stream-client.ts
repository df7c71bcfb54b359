// Clients of streaming servers for tests: SPDY as kubectl speaks it, on a connection of their own each.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { SpdyConnection, type SpdyStream } from '../../src/adapters/streaming/index.js';

export interface Upgraded {
  readonly response: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

export interface Refused {
  readonly status: number;
  readonly body: string;
}

/** Asks for an upgrade. */
export function upgrade(url: string, headers: Readonly<Record<string, string | readonly string[]>>, method = 'POST'): Promise<Upgraded | Refused> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, { method, agent: false, headers: { Connection: 'Upgrade', ...(headers as Record<string, string>) } });
    asked.once('upgrade', (response, socket, head) => resolve({ response, socket: socket as Socket, head }));
    asked.once('response', (response) => void textOf(response).then((body) => resolve({ status: response.statusCode ?? 0, body })));
    asked.once('error', reject);
    asked.end();
  });
}

/** Throws when it is refused. */
export async function spdy(url: string, protocol: string): Promise<SpdyConnection> {
  const answer = await upgrade(url, { Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': protocol });
  if ('status' in answer) throw new Error(`refused: ${answer.status} ${answer.body}`);
  return new SpdyConnection(answer.socket, { role: 'client' }, answer.head);
}

/** All that comes; what it was until it broke. */
export function textOf(stream: Readable): Promise<string> {
  return bytesOf(stream).then((bytes) => bytes.toString('utf8'));
}

export function bytesOf(stream: Readable): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('end', () => resolve(Buffer.concat(chunks)));
    stream.once('close', () => resolve(Buffer.concat(chunks)));
  });
}

/** The streams of a command, made in the order of their names. */
export async function commandStreams(connection: SpdyConnection, types: readonly string[]): Promise<Readonly<Record<string, SpdyStream>>> {
  const streams: Record<string, SpdyStream> = {};
  for (const streamtype of types) streams[streamtype] = await connection.open({ streamtype });
  streams.error?.end();
  return streams;
}
