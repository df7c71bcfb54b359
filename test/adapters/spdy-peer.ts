// The other end of a SPDY connection for tests, as bytes: frames by their numbers, headers as zlib packs them.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { constants, createDeflate } from 'node:zlib';
import type t from 'tap';
import { SpdyConnection, type SpdyConnectionOptions, SpdyFrameReader, type SpdyStream } from '../../src/adapters/streaming/index.js';
import { spdyDictionary } from '../../src/adapters/streaming/spdy-dictionary.js';

type Checks = Pick<typeof t, 'teardown'>;

/** A frame by its numbers: type, flags, body. */
export function frame(type: number, flags: number, body: Buffer, version = 3): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(body.length, 4);
  head[4] = flags;
  return Buffer.concat([head, body]);
}

export function numbers(...values: number[]): Buffer {
  return Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value >>> 0);
      return bytes;
    }),
  );
}

export function plainBlock(headers: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat([numbers(headers.length), ...headers.flatMap(([name, value]) => [numbers(name.length), Buffer.from(name), numbers(value.length), Buffer.from(value)])]);
}

/** Blocks of headers as zlib packs them, one stream. */
export async function packed(blocks: readonly Buffer[]): Promise<Buffer[]> {
  const deflate = createDeflate({ dictionary: spdyDictionary });
  const out: Buffer[] = [];
  for (const block of blocks) {
    deflate.write(block);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    out.push(deflate.read() as Buffer);
  }
  return out;
}

export async function pair(
  t: Checks,
  options: Partial<SpdyConnectionOptions> = {},
): Promise<{ readonly raw: Socket; readonly connection: SpdyConnection; readonly got: () => Buffer }> {
  const server = createServer({ allowHalfOpen: true });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const accepted = once(server, 'connection');
  const raw = connect({ port: (server.address() as { port: number }).port, host: '127.0.0.1', allowHalfOpen: true });
  raw.on('error', () => {});
  const chunks: Buffer[] = [];
  raw.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [socket] = (await accepted) as [Socket];
  const connection = new SpdyConnection(socket, { role: 'server', lingerMillis: 100, ...options });
  t.teardown(() => {
    raw.destroy();
    connection.destroy();
    server.close();
  });
  return { raw, connection, got: () => Buffer.concat(chunks) };
}

/** Two ends of this implementation. */
export async function both(
  t: Checks,
  accept: (stream: SpdyStream) => boolean,
  options: Partial<SpdyConnectionOptions> = {},
): Promise<{ readonly client: SpdyConnection; readonly server: SpdyConnection }> {
  const { raw, connection } = await pair(t, { accept, ...options });
  raw.removeAllListeners('data');
  return { client: new SpdyConnection(raw, { role: 'client', lingerMillis: 100 }), server: connection };
}

export const kinds = (bytes: Buffer) => [...new SpdyFrameReader().read(bytes)].map(({ kind }) => kind);
