// Streams through the kubelet's port when one of the three parties misbehaves: the runtime's streaming server hangs, sends nonsense, resets or closes
// half; the client vanishes, closes half or doesn't read; hundreds idle and end. In all cases both connections are closed soon after.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { KubeletServer } from '../../src/adapters/http-server/index.js';
import { requestPolicy } from '../../src/domain/authorization/request-policy.js';
import { until } from '../support/until.js';
import type { Checks } from './kubelet-server-peer.js';

t.setTimeout(120_000);

const limits = { dialMillis: 500, answerMillis: 300, relayMillis: 300, silentMillis: 300, unreadMillis: 300 };
const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n';
const upgradeRequest = 'POST /exec/ns/p/c?command=sh&input=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

interface Stand {
  readonly server: KubeletServer;
  /** Connections that the runtime has open. */
  readonly backends: Set<Socket>;
  readonly errors: string[];
}

/** @param behave what the runtime does once the request's head has come */
async function stand(t: Checks, behave: (socket: Socket, head: string) => void, proxyLimits = limits): Promise<Stand> {
  const backends = new Set<Socket>();
  const runtime = createServer({ allowHalfOpen: true }, (socket) => {
    backends.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => backends.delete(socket));
    let head = '';
    const read = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      socket.off('data', read);
      const rest = head.slice(head.indexOf('\r\n\r\n') + 4);
      if (rest !== '') socket.unshift(Buffer.from(rest, 'latin1'));
      behave(socket, head);
    };
    socket.on('data', read);
  });
  await new Promise<void>((resolve) => runtime.listen(0, '127.0.0.1', resolve));
  const target = new URL(`http://127.0.0.1:${(runtime.address() as AddressInfo).port}/exec/one-time-token`);
  const errors: string[] = [];
  const server = await KubeletServer.listen({
    address: '127.0.0.1',
    port: 0,
    policy: requestPolicy('n'),
    routes: [{ pattern: '/exec/', methods: ['GET', 'POST'], produces: null, answer: () => ({ kind: 'proxy', target }) }],
    tls: null,
    access: null,
    proxyLimits,
    onError: (error) => errors.push(String(error)),
  });
  t.teardown(async () => {
    for (const socket of backends) socket.destroy();
    runtime.close();
    await server.close(0);
  });
  return { server, backends, errors };
}

/** A client that has sent an upgrade request and does nothing else by itself. @param t null: the caller closes it */
function client(t: Checks | null, { server }: Stand, request = upgradeRequest) {
  const socket = connect({ host: '127.0.0.1', port: server.port, allowHalfOpen: true });
  const got: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => got.push(chunk));
  socket.on('error', () => {});
  socket.write(request);
  t?.teardown(() => socket.destroy());
  const text = () => Buffer.concat(got).toString('latin1');
  const ended = Promise.race([once(socket, 'end'), once(socket, 'close')]).then(text, text);
  return { socket, text, ended };
}

/** A runtime that keeps its half open learns only by writing whether the other one is closed or merely done; before, its writing would keep a stream alive. */
const nothingLeft = async ({ server, backends }: Stand): Promise<void> => {
  await until('no client is left', async () => (await server.connections()) === 0);
  await until('no connection to the runtime is left', () => {
    for (const socket of backends) if (socket.readableEnded && socket.writable) socket.write('?');
    return backends.size === 0;
  });
};

const afterwards = (t: Checks, at: Stand) => t.strictSame(at.errors, []);

const answers: readonly (readonly [what: string, behave: (socket: Socket) => void, expected: RegExp])[] = [
  ['hangs', () => {}, /^HTTP\/1\.1 500 [\s\S]*error dialing backend: the streaming server of the container runtime gave no answer\n$/],
  ['resets', (socket) => socket.resetAndDestroy(), /^HTTP\/1\.1 500 [\s\S]*gave no answer\n$/],
  ['closes', (socket) => socket.end(), /^HTTP\/1\.1 500 [\s\S]*gave no answer\n$/],
  ['talks nonsense', (socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n\r\n'), /^HTTP\/1\.1 500 [\s\S]*gave no answer\n$/],
  ['never ends its headers', (socket) => socket.write(`HTTP/1.1 101 x\r\n${'X: y\r\n'.repeat(20_000)}`), /^HTTP\/1\.1 500 [\s\S]*gave no answer\n$/],
  ['stops amidst its headers', (socket) => socket.write('HTTP/1.1 101 Switching'), /^HTTP\/1\.1 500 [\s\S]*gave no answer\n$/],
  ['does not upgrade', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), /^HTTP\/1\.1 500 [\s\S]*invalid upgrade response: status code 200\n$/],
  ['sends elsewhere', (socket) => socket.end('HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\n\r\n'), /^HTTP\/1\.1 500 [\s\S]*invalid upgrade response: status code 302\n$/],
  [
    'refuses',
    (socket) => socket.end('HTTP/1.1 404 Not Found\r\nX-Own: kept\r\nContent-Length: 9\r\n\r\nno longer'),
    /^HTTP\/1\.1 404 Not Found\r\nX-Own: kept\r\n[\s\S]*no longer$/,
  ],
  ['refuses and hangs', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\n\r\nno'), /^HTTP\/1\.1 400 Bad Request[\s\S]*no$/],
];

t.test('a runtime that does not do what was asked', async (t) => {
  for (const [what, behave, expected] of answers) {
    const at = await stand(t, behave);
    const { ended, socket } = client(t, at);
    t.match(await ended, expected, what);
    socket.end();
    await nothingLeft(at);
    afterwards(t, at);
  }
});

t.test('a client that vanishes, at whatever moment', async (t) => {
  const moments: readonly (readonly [what: string, behave: (socket: Socket) => void, wait: (at: Stand, got: () => string) => Promise<void>])[] = [
    ['before the runtime has answered', () => {}, (at) => until('the runtime was asked', () => at.backends.size === 1)],
    ['once it has answered', (socket) => socket.write(switching), (_at, got) => until('the upgrade', () => got().includes('101'))],
    ['amidst a flood from the runtime', (socket) => flood(socket), (_at, got) => until('the flood', () => got().length > 100_000)],
  ];
  for (const [what, behave, wait] of moments) {
    for (const leave of ['destroy', 'resetAndDestroy'] as const) {
      const at = await stand(t, behave);
      const { socket, text } = client(t, at);
      await wait(at, text);
      socket[leave]();
      await nothingLeft(at);
      t.pass(`${what}, by ${leave}`);
      afterwards(t, at);
    }
  }
});

/** Writes until the reader is gone. Counts the accepted bytes. */
function flood(socket: Socket): { readonly taken: () => number } {
  socket.write(switching);
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let taken = 0;
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk)) taken += chunk.length;
    taken += chunk.length;
  };
  socket.on('drain', more);
  more();
  return { taken: () => taken };
}

t.test('the runtime ends the stream in the middle', async (t) => {
  const rows: readonly (readonly [what: string, end: (socket: Socket) => void, whole: boolean])[] = [
    ['by closing its half, after its last words', (socket) => socket.end('last words'), true],
    ['by closing altogether', (socket) => socket.end('last words', () => socket.destroy()), true],
    ['by a reset', (socket) => socket.resetAndDestroy(), false],
  ];
  for (const [what, end, whole] of rows) {
    const at = await stand(t, (socket) => {
      socket.write(switching);
      socket.once('data', () => end(socket));
    });
    const { socket, text, ended } = client(t, at);
    await until('the upgrade', () => text().includes('101'));
    socket.write('go');
    const got = await ended;
    if (whole) t.match(got, /last words$/, what);
    await nothingLeft(at);
    t.pass(`${what}: the client's connection goes, too, though it keeps it`);
    afterwards(t, at);
  }
});

t.test('a client that closes its half gets what was still to come, for a while', async (t) => {
  const at = await stand(t, (socket) => {
    socket.write(switching);
    socket.once('end', () => socket.end('the answer'));
    socket.resume();
  });
  const { socket, text, ended } = client(t, at);
  await until('the upgrade', () => text().includes('101'));
  socket.end('the question');
  t.match(await ended, /the answer$/);
  await nothingLeft(at);
  const hanging = await stand(t, (socket) => {
    socket.write(switching);
    socket.resume();
  });
  const other = client(t, hanging);
  await until('the upgrade', () => other.text().includes('101'));
  other.socket.end();
  await nothingLeft(hanging);
  t.pass('a runtime that neither writes nor ends is not waited for');
});

t.test('a client that closes its half and reads no more holds nothing', async (t) => {
  const at = await stand(t, (socket) => void flood(socket));
  const socket = connect({ host: '127.0.0.1', port: at.server.port, allowHalfOpen: true });
  socket.on('error', () => {});
  t.teardown(() => socket.destroy());
  socket.pause();
  socket.write(upgradeRequest);
  await until('the stream is there', () => at.backends.size === 1);
  await delay(50);
  socket.end();
  await nothingLeft(at);
  t.pass('both connections are gone');
});

t.test('whoever does not read holds up the other one, in both directions, and nothing is gathered', async (t) => {
  const counted: { taken: () => number } = { taken: () => 0 };
  const at = await stand(t, (socket) => {
    counted.taken = flood(socket).taken;
  });
  const slow = connect({ host: '127.0.0.1', port: at.server.port });
  slow.on('error', () => {});
  slow.pause();
  slow.write(upgradeRequest);
  const settled = async (figure: () => number): Promise<number> => {
    let before = -1;
    while (figure() !== before || before === 0) {
      before = figure();
      await delay(200);
    }
    return before;
  };
  const down = await settled(() => counted.taken());
  // Most of it is in the kernel's buffers of two pairs of sockets.
  t.ok(down < 24 * 1024 * 1024, `${down} bytes were taken from the runtime for a client that doesn't read`);
  slow.resume();
  await until('it goes on', () => counted.taken() > down + 1024 * 1024);
  slow.destroy();
  await nothingLeft(at);

  const deaf = await stand(t, (socket) => {
    socket.write(switching);
    socket.pause();
  });
  const { socket: writer, text } = client(t, deaf);
  await until('the upgrade', () => text().includes('101'));
  let sent = 0;
  const chunk = Buffer.alloc(64 * 1024);
  const more = (): void => {
    while (!writer.destroyed && writer.write(chunk)) sent += chunk.length;
  };
  writer.on('drain', more);
  more();
  const up = await settled(() => sent + 1);
  t.ok(up < 24 * 1024 * 1024, `${up} bytes were taken from a client for a runtime that doesn't read`);
  writer.destroy();
  for (const socket of deaf.backends) socket.resume();
  await nothingLeft(deaf);
});

t.test('bytes that come with the request, and with the answer, are passed on', async (t) => {
  const at = await stand(t, (socket) => {
    socket.write(`${switching}early `);
    socket.on('data', (chunk: Buffer) => socket.write(chunk));
  });
  const { socket, text } = client(t, at, `${upgradeRequest}with the request`);
  await until('both', () => text().includes('with the request'));
  t.match(text(), /^HTTP\/1\.1 101 [\s\S]*\r\n\r\nearly with the request$/);
  const block = randomBytes(300_000);
  socket.write(block);
  await until('all of it', () => text().length > 300_000);
  t.ok(Buffer.from(text(), 'latin1').subarray(-block.length).equals(block));
  socket.destroy();
  await nothingLeft(at);
});

t.test('five hundred idle streams end, and nothing of them is left', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const idle = (socket: Socket): void => {
    socket.write(switching);
    socket.resume();
  };
  // A crowd on a busy host may wait for its answers.
  const at = await stand(t, idle, { ...limits, dialMillis: 60_000, answerMillis: 60_000 });
  const many = async (count: number): Promise<void> => {
    const clients = Array.from({ length: count }, () => client(null, at));
    await until('all are there', () => at.backends.size === count && clients.every(({ text }) => text().includes('101')));
    t.equal(await at.server.connections(), count);
    for (const [i, { socket }] of clients.entries()) {
      if (i % 3 === 0) socket.end();
      else if (i % 3 === 1) socket.destroy();
      else socket.resetAndDestroy();
    }
    await nothingLeft(at);
  };
  await many(500);
  await delay(2 * limits.silentMillis);
  collect();
  const before = process.memoryUsage().heapUsed;
  await many(500);
  await delay(2 * limits.silentMillis);
  collect();
  const growth = process.memoryUsage().heapUsed - before;
  // A kilobyte a stream would be half of it.
  t.ok(growth < 1024 * 1024, `the heap grew by ${growth} bytes`);
  const handles = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap' || name === 'TCPSERVERWRAP').length;
  t.ok(handles < 10, `${handles} sockets are open`);
  afterwards(t, at);
});

t.test('closing the server ends streams in good order, and cuts those that stay', async (t) => {
  const at = await stand(t, (socket) => {
    socket.write(switching);
    socket.resume();
  });
  const { text, ended } = client(t, at);
  await until('the upgrade', () => text().includes('101'));
  const closing = at.server.close(50);
  await ended;
  await closing;
  await nothingLeft(at);
  t.pass('the client saw an end, and did not have to close for it');
});
