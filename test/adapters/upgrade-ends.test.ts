// The ends of an upgraded connection: what one side wrote before it ended reaches the other, for any number of bytes, however the end meets them: in one
// piece with the last bytes, while output is in flight, while the runtime has ended its own half but reads on. Each client plain and over TLS.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import t, { type Test } from 'tap';
import { proxyUpgrade } from '../../src/adapters/http-server/upgrade-proxy.js';
import { serving } from './kubelet-server-peer.js';

t.setTimeout(300_000);

const request = 'POST /portForward/ns/p HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';
const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n';
const output = randomBytes(200_000);

/** What the runtime's server does with its own half of the connection. */
type Runtime = 'says nothing' | 'writes now and then' | 'ends its half first' | 'ends its half amidst the input' | 'writes, ends its half';
const runtimes: readonly Runtime[] = ['says nothing', 'writes now and then', 'ends its half first', 'ends its half amidst the input', 'writes, ends its half'];
type Client = 'ends with its last bytes' | 'ends later' | 'writes in turns and ends';
const clients: readonly Client[] = ['ends with its last bytes', 'ends later', 'writes in turns and ends'];
/** Around the size of the proxy's blocks. */
const sizes = [1, 1_000, 65_535, 65_536, 65_537, 300_001, 3_000_001];

interface Session {
  readonly client: Socket;
  /** What the runtime read until the client's end. */
  readonly taken: Promise<Buffer>;
  /** What the client read until the runtime's end. */
  readonly shown: Promise<Buffer>;
  close(): void;
}

async function behave(kind: Runtime, socket: Socket, isOver: () => boolean): Promise<void> {
  if (kind === 'ends its half first') socket.end();
  if (kind === 'ends its half amidst the input') socket.once('data', () => socket.end());
  if (kind === 'writes, ends its half') socket.end(output);
  while (kind === 'writes now and then' && !isOver()) {
    socket.write('x');
    await delay(1);
  }
}

function all(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => parts.push(chunk));
  return Promise.race([once(socket, 'end'), once(socket, 'close')]).then(() => Buffer.concat(parts));
}

async function session(t: Test, kind: Runtime, overTls: boolean): Promise<Session> {
  let took: (bytes: Buffer) => void = () => {};
  const taken = new Promise<Buffer>((resolve) => {
    took = resolve;
  });
  const runtime = createTcpServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', (error) => t.fail(`the runtime's side: ${String(error)}`));
    socket.once('data', async (head: Buffer) => {
      const end = head.indexOf('\r\n\r\n') + 4;
      if (head.length > end) socket.unshift(head.subarray(end));
      socket.write(switching);
      let isOver = false;
      const read = all(socket);
      void behave(kind, socket, () => isOver);
      took(await read);
      isOver = true;
      socket.end();
    });
  });
  runtime.listen(0, '127.0.0.1');
  await once(runtime, 'listening');
  const target = new URL(`http://127.0.0.1:${(runtime.address() as AddressInfo).port}/token`);
  const server = overTls ? createHttpsServer(serving) : createHttpServer();
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => void proxyUpgrade(incoming, socket, head, target)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = { port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true };
  const client = overTls ? connectTls({ ...at, rejectUnauthorized: false }) : connectTcp(at);
  client.on('error', (error) => t.fail(`the client's side: ${String(error)}`));
  client.write(request);
  const [head] = (await once(client, 'data')) as [Buffer];
  const rest = head.subarray(head.indexOf('\r\n\r\n') + 4);
  const shown = all(client).then((later) => Buffer.concat([rest, later]));
  const close = (): void => {
    client.destroy();
    server.close();
    runtime.close();
  };
  return { client, taken, shown, close };
}

async function write(how: Client, client: Socket, bytes: Buffer): Promise<void> {
  if (how === 'ends with its last bytes') {
    client.end(bytes);
    return;
  }
  for (let at = 0; at < bytes.length; at += 50_000) {
    client.write(bytes.subarray(at, at + 50_000));
    if (how === 'writes in turns and ends') await delay(1);
  }
  if (how === 'ends later') await delay(20);
  client.end();
}

const digest = (bytes: Buffer): string => `${bytes.length} bytes, ${createHash('md5').update(bytes).digest('hex')}`;

for (const overTls of [false, true]) {
  for (const kind of runtimes) {
    t.test(`a runtime that ${kind}, a client ${overTls ? 'over TLS' : 'in plain'}`, async (t) => {
      for (const how of clients) {
        const lost = await Promise.all(
          sizes.map(async (size) => {
            const bytes = randomBytes(size);
            const { client, taken, shown, close } = await session(t, kind, overTls);
            void write(how, client, bytes);
            const [input, answer] = [digest(await taken), digest(await shown)];
            close();
            const isWhole = input === digest(bytes) && (kind !== 'writes, ends its half' || answer === digest(output));
            return isWhole ? [] : [`${size} bytes: ${input}; ${answer}`];
          }),
        );
        t.strictSame(lost.flat(), [], `a client that ${how}`);
      }
    });
  }
}
