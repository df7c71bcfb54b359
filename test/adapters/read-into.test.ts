// An accepted socket reads into a reused buffer: the behaviour must equal reading it as a stream, on each version of TLS,
// and this Node must have the required internals.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Server, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, createServer as createTlsServer, type SecureVersion } from 'node:tls';
import t, { type Test } from 'tap';
import { passOnCopied, passOnGathered } from '../../src/adapters/http-server/pass-on.js';
import { readInto } from '../../src/adapters/http-server/read-into.js';
import { serving } from './kubelet-server-peer.js';

t.setTimeout(120_000);

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

interface Pair {
  readonly client: Socket;
  readonly accepted: Socket;
}

async function accepting(t: Test, server: Server, dial: (port: number) => Socket, event: string): Promise<Pair> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const coming = once(server, event);
  const client = dial((server.address() as AddressInfo).port);
  const [accepted] = (await coming) as [Socket];
  for (const socket of [client, accepted]) socket.on('error', () => socket.destroy());
  t.teardown(() => {
    client.destroy();
    accepted.destroy();
    server.close();
  });
  return { client, accepted };
}

/** @param allowHalfOpen of the accepted one, as a server of HTTP has it */
const tlsPair = (t: Test, version: SecureVersion): Promise<Pair> =>
  accepting(
    t,
    createTlsServer({ ...serving, minVersion: version, maxVersion: version, allowHalfOpen: true }),
    (port) => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, allowHalfOpen: true } as never),
    'secureConnection',
  );
const tcpPair = (t: Test): Promise<Pair> =>
  accepting(t, createTcpServer({ allowHalfOpen: true }), (port) => connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true }), 'connection');

/** Gathers what is taken; `stops` after that many takes, until the next `go`. */
class Taker {
  readonly taken: Buffer[] = [];
  acceptsMore = true;
  private waiting: { readonly bytes: number; readonly done: () => void } | null = null;

  readonly take = (bytes: Uint8Array, count: number): boolean => {
    this.taken.push(Buffer.from(bytes.subarray(0, count)));
    if (this.waiting !== null && this.length >= this.waiting.bytes) this.waiting.done();
    return this.acceptsMore;
  };

  get length(): number {
    return this.taken.reduce((sum, { length }) => sum + length, 0);
  }

  get all(): Buffer {
    return Buffer.concat(this.taken);
  }

  async has(bytes: number): Promise<void> {
    if (this.length >= bytes) return;
    await new Promise<void>((done) => {
      this.waiting = { bytes, done };
    });
  }
}

const kinds: readonly (readonly [string, (t: Test) => Promise<Pair>])[] = [
  ['TLS 1.2', (t) => tlsPair(t, 'TLSv1.2')],
  ['TLS 1.3', (t) => tlsPair(t, 'TLSv1.3')],
  ['plain', tcpPair],
];

for (const [kind, pairOf] of kinds) {
  t.test(`${kind}: this Node can do it; what was in the stream comes first, its bytes are counted, its end is heard`, async (t) => {
    const { client, accepted } = await pairOf(t);
    const bytes = randomBytes(300_000);
    client.write(bytes.subarray(0, 10_000));
    while (accepted.readableLength < 10_000) {
      const came = once(accepted, 'readable');
      accepted.read(0);
      await came;
    }
    accepted.removeAllListeners('readable');
    const taker = new Taker();
    t.equal(readInto(accepted, Buffer.alloc(16 * 1024), taker.take), true);
    t.equal(taker.length, 10_000, 'at once');
    const end = once(accepted, 'end');
    client.end(bytes.subarray(10_000));
    await end;
    t.equal(digest(taker.all), digest(bytes));
    t.equal(accepted.bytesRead, bytes.length);
    t.equal(
      taker.taken.every(({ length }) => length <= 16 * 1024),
      true,
      'never more than the memory holds',
    );
    const answer = once(client, 'data');
    accepted.end('after its end');
    t.equal(String((await answer)[0]), 'after its end');
  });

  t.test(`${kind}: held up, it takes what has come and reads no more until it is resumed`, async (t) => {
    const { client, accepted } = await pairOf(t);
    const bytes = randomBytes(16 * 1024 * 1024);
    const taker = new Taker();
    taker.acceptsMore = false;
    readInto(accepted, Buffer.alloc(16 * 1024), taker.take);
    client.write(bytes);
    client.end();
    await taker.has(1);
    // Every chunk is answered, so that all possible reads are done by the next answer.
    for (let i = 0; i < 3; i++) {
      const { client: other, accepted: its } = await tcpPair(t);
      other.write('x');
      await once(its, 'data');
    }
    t.equal(taker.length < bytes.length / 4, true, `${taker.length} bytes`);
    const end = once(accepted, 'end');
    taker.acceptsMore = true;
    accepted.resume();
    await end;
    t.equal(digest(taker.all), digest(bytes));
  });

  t.test(`${kind}: what breaks ends it as it ends a stream`, async (t) => {
    const { client, accepted } = await pairOf(t);
    const taker = new Taker();
    readInto(accepted, Buffer.alloc(16 * 1024), taker.take);
    client.write('first');
    await taker.has(5);
    const broken = once(accepted, 'error');
    const closed = new Promise((resolve) => accepted.once('close', resolve));
    // A client that goes while there is something for it to read resets the connection.
    accepted.write(Buffer.alloc(8 * 1024 * 1024));
    client.destroy();
    t.match((await broken)[0], { code: /^(ECONNRESET|EPIPE)$/ });
    await closed;
    t.equal(String(taker.all), 'first');
  });
}

t.test('a socket that is made another way, or is gone, stays as it is', async (t) => {
  const never = (): boolean => {
    throw new Error('taken');
  };
  const { client, accepted } = await tcpPair(t);
  readInto(accepted, Buffer.alloc(16), () => true);
  t.equal(readInto(accepted, Buffer.alloc(16), never), false, 'one that is read into memory already');
  client.destroy();
  t.equal(readInto(client, Buffer.alloc(16), never), false, 'one that is destroyed');
  t.equal(readInto(new Socket(), Buffer.alloc(16), never), false, 'one that was never connected');
  t.equal(readInto(new Duplex() as unknown as Socket, Buffer.alloc(16), never), false, 'none at all');
});

const ways = [
  ['copied', (from: Socket, to: Socket) => passOnCopied(from, to)],
  [
    'gathered',
    (from: Socket, to: Socket) => {
      passOnGathered(from, to);
      return true;
    },
  ],
] as const;

for (const [kind, pairOf] of kinds) {
  for (const [name, way] of ways) {
    t.test(`${kind}, ${name}: all bytes arrive, in order, with the end right behind them, however slowly they are read`, async (t) => {
      const { client, accepted: from } = await pairOf(t);
      const { client: to, accepted: sink } = await tcpPair(t);
      t.equal(way(from, to), true);
      from.once('end', () => to.end());
      const bytes = randomBytes(3_000_001);
      const got: Buffer[] = [];
      sink.on('data', (chunk: Buffer) => {
        got.push(chunk);
        if (got.length % 8 !== 0) return;
        sink.pause();
        setImmediate(() => sink.resume());
      });
      const ended = once(sink, 'end');
      for (let at = 0, piece = 1; at < bytes.length; at += piece, piece = ((piece * 11) % 120_001) + 1) {
        if (!client.write(bytes.subarray(at, at + piece))) await once(client, 'drain');
      }
      client.end();
      await ended;
      t.equal(digest(Buffer.concat(got)), digest(bytes));
    });

    t.test(`${kind}, ${name}: nobody reads at the other end, and little is on its way`, async (t) => {
      const { client, accepted: from } = await pairOf(t);
      const { client: to, accepted: sink } = await tcpPair(t);
      sink.pause();
      way(from, to);
      const block = Buffer.alloc(1024 * 1024);
      let written = 0;
      // Until the client's own memory fills, which nothing but a held up reader does.
      while (client.writableLength < 8 * block.length) {
        client.write(block);
        written += block.length;
        await new Promise((resolve) => setImmediate(resolve));
        if (written > 512 * block.length) break;
      }
      t.equal(written <= 512 * block.length, true, 'the client is held up');
      t.equal(to.writableLength < 1024 * 1024, true, `${to.writableLength} bytes wait`);
      t.equal(from.readableLength <= 128 * 1024, true, `${from.readableLength} bytes in the stream`);
      // The other end goes: what still comes is dropped, and nothing throws.
      to.destroy();
      await once(to, 'close');
      from.resume();
      const over = new Promise((resolve) => from.once('end', resolve).once('close', resolve));
      client.destroy();
      await over;
    });
  }
}
