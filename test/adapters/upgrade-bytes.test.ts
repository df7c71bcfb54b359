// Bytes through an upgraded connection arrive unchanged, in both directions at once, for any sizes of writes and any speed of
// reads: a reused buffer must be written out before it is read into again. Each end plain and over TLS.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import t from 'tap';
import { defaultProxyLimits, proxyUpgrade } from '../../src/adapters/http-server/upgrade-proxy.js';
import { serving } from './kubelet-server-peer.js';

t.setTimeout(120_000);

const eachWay = 5 * 1024 * 1024;
const request = 'POST /portForward/ns/p HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';
const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n';

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

/** In pieces of one byte up to a few records. */
async function writeInPieces(socket: Socket, bytes: Buffer): Promise<void> {
  for (let at = 0, piece = 1; at < bytes.length; at += piece, piece = ((piece * 7) % 90_001) + 1) {
    if (!socket.write(bytes.subarray(at, at + piece))) await once(socket, 'drain');
  }
}

/** Stops now and then, so that what comes has to wait on its way. */
function readSlowly(socket: Socket, bytes: number): Promise<Buffer> {
  const got: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(new Error(`it ended after ${length} bytes`)));
    socket.on('data', (chunk: Buffer) => {
      got.push(chunk);
      length += chunk.length;
      if (length >= bytes) resolve(Buffer.concat(got));
      if (got.length % 40 !== 0) return;
      socket.pause();
      setTimeout(() => socket.resume(), 3);
    });
    socket.resume();
  });
}

/** Reads up to the end of a head, and leaves the rest to be read. */
async function headOf(socket: Socket): Promise<string> {
  let head = Buffer.alloc(0);
  while (!head.includes('\r\n\r\n')) {
    const came = once(socket, 'data');
    socket.resume();
    const [chunk] = (await came) as [Buffer];
    socket.pause();
    head = Buffer.concat([head, chunk]);
  }
  const end = head.indexOf('\r\n\r\n') + 4;
  if (head.length > end) socket.unshift(head.subarray(end));
  return head.subarray(0, end).toString('latin1');
}

const ends = [
  { client: 'plain', runtime: 'plain' },
  { client: 'tls', runtime: 'plain' },
  { client: 'plain', runtime: 'tls' },
  { client: 'tls', runtime: 'tls' },
] as const;

for (const { client: clientKind, runtime: runtimeKind } of ends) {
  t.test(`bytes are the same at the other end: client ${clientKind}, runtime ${runtimeKind}`, async (t) => {
    const [down, up] = [randomBytes(eachWay), randomBytes(eachWay)];
    let takenByRuntime: Promise<Buffer> = Promise.reject(new Error('the runtime was never asked'));
    takenByRuntime.catch(() => {});
    const behave = async (socket: Socket): Promise<void> => {
      socket.on('error', () => socket.destroy());
      await headOf(socket);
      // The answer comes in two pieces, the second of them together with what follows it.
      socket.write(switching.slice(0, 20));
      setImmediate(() => {
        socket.write(switching.slice(20));
        takenByRuntime = readSlowly(socket, eachWay);
        void writeInPieces(socket, down);
      });
    };
    const runtime = runtimeKind === 'tls' ? createTlsServer(serving, (socket) => void behave(socket)) : createTcpServer((socket) => void behave(socket));
    runtime.listen(0, '127.0.0.1');
    await once(runtime, 'listening');
    const target = new URL(`${runtimeKind === 'tls' ? 'https' : 'http'}://127.0.0.1:${portOf(runtime)}/token`);
    let proxied: Promise<void> | null = null;
    const upgrade = (incoming: IncomingMessage, socket: Socket, head: Buffer): void => {
      proxied = proxyUpgrade(incoming, socket, head, target, { rejectUnauthorized: false }, defaultProxyLimits);
    };
    const server = clientKind === 'tls' ? createHttpsServer(serving) : createHttpServer();
    server.on('upgrade', upgrade).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      server.close();
      runtime.close();
    });

    const at = { port: portOf(server), host: '127.0.0.1' };
    const client = clientKind === 'tls' ? connectTls({ ...at, rejectUnauthorized: false }) : connectTcp(at);
    client.on('error', () => client.destroy());
    client.write(request);
    t.equal(await headOf(client), switching);
    const takenByClient = readSlowly(client, eachWay);
    await writeInPieces(client, up);
    t.equal(digest(await takenByClient), digest(down), 'what the runtime wrote');
    t.equal(digest(await takenByRuntime), digest(up), 'what the client wrote');
    client.destroy();
    await proxied;
  });
}

t.test('a runtime that speaks before it is asked is heard', async (t) => {
  const runtime = createTcpServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.write(`${switching}first`);
    socket.resume();
  });
  runtime.listen(0, '127.0.0.1');
  await once(runtime, 'listening');
  let proxied: Promise<void> | null = null;
  const server = createHttpServer().on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    proxied = proxyUpgrade(incoming, socket, head, new URL(`http://127.0.0.1:${portOf(runtime)}/token`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    runtime.close();
  });
  const client = connectTcp({ port: portOf(server), host: '127.0.0.1' });
  client.write(request);
  let text = '';
  for await (const chunk of client) {
    text += String(chunk);
    if (text.endsWith('first')) break;
  }
  t.equal(text, `${switching}first`);
  client.destroy();
  await proxied;
});
