// What one client, or many together, can make the kubelet's port do before it is known who they are, or without reading answers: a bounded amount.

import { createServer } from 'node:http';
import { Agent } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import t from 'tap';
import { Authenticator, type KubeletRoute, plainText } from '../../src/adapters/http-server/index.js';
import { questionOf } from '../../src/adapters/http-server/question.js';
import { until } from '../support/until.js';
import { ask, bearer, type Checks, ca, rawly, routes, serve } from './kubelet-server-peer.js';

t.setTimeout(60_000);

t.test('requests of one connection are answered one after the other', async (t) => {
  const seen = { now: 0, most: 0, all: 0 };
  const slow: KubeletRoute = {
    pattern: '/configz',
    methods: null,
    produces: null,
    answer: async () => {
      seen.now++;
      seen.most = Math.max(seen.most, seen.now);
      await new Promise((resolve) => setImmediate(resolve));
      seen.now--;
      return plainText(200, `answer ${seen.all++}.`);
    },
  };
  const { server } = await serve(t, { routes: [...routes, slow], owners: { secret: 'jane' } });
  const request = 'GET /configz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n';
  const last = request.replace('Host', 'Connection: close\r\nHost');
  const answers = await rawly(t, server.port, request.repeat(49) + last).ended;
  t.strictSame(
    [...answers.matchAll(/answer (\d+)\./g)].map(([, number]) => Number(number)),
    Array.from({ length: 50 }, (_, i) => i),
    'each has its answer, in order',
  );
  t.equal(seen.most, 1, 'never two at once');
  seen.all = 0;
  await rawly(t, server.port, request.repeat(400)).ended;
  t.ok(seen.all <= 2, `a flood ends its connection: ${seen.all} were answered`);
  t.equal((await ask(server.port, '/configz', bearer('secret'))).status, 200, 'and the server goes on');
});

t.test('a connection that is kept for many requests gathers nothing', async (t) => {
  const { server } = await serve(t, { owners: { secret: 'jane' } });
  const warnings: string[] = [];
  const warned = ({ message }: Error) => warnings.push(message);
  process.on('warning', warned);
  t.teardown(() => process.off('warning', warned));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  for (let i = 0; i < 50; i++) t.equal((await ask(server.port, '/pods', { ...bearer('secret'), agent })).status, 200);
  t.equal(await server.connections(), 1);
  t.strictSame(warnings, [], 'Node warns of the eleventh listener of a kind');
});

t.test('a request that waits when its client goes is not worked on', async (t) => {
  const waiting: (() => void)[] = [];
  const hanging: KubeletRoute = {
    pattern: '/configz',
    methods: null,
    produces: null,
    answer: () => new Promise((resolve) => waiting.push(() => resolve(plainText(200, '')))),
  };
  const { server } = await serve(t, { routes: [...routes, hanging], owners: { secret: 'jane' } });
  const { socket } = rawly(t, server.port, 'GET /configz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n'.repeat(3));
  await until('the first is worked on', () => waiting.length === 1);
  socket.destroy();
  await until('the server knows', async () => (await server.connections()) === 0);
  for (const go of waiting.splice(0)) go();
  t.equal((await ask(server.port, '/pods', bearer('secret'))).status, 200);
  t.strictSame(waiting, [], 'the others were dropped');
});

/** A connection that has sent this of a request. */
async function connected(t: Checks, port: number, text: string): Promise<TLSSocket> {
  const socket = tlsConnect({ port, host: '127.0.0.1', ca: ca.certificate });
  socket.on('error', () => {});
  socket.resume();
  t.teardown(() => socket.destroy());
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  socket.write(text);
  return socket;
}

t.test('heads that never end are cut where they are too much together, the longest first', async (t) => {
  const limits = { headerBytesMax: 16 * 1024, headerBytesInAllMax: 64 * 1024 };
  const { server } = await serve(t, { limits, owners: { secret: 'jane' } });
  const small = await Promise.all(Array.from({ length: 4 }, () => connected(t, server.port, 'GET /pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sec')));
  const silent = await connected(t, server.port, '');
  const large = await Promise.all(Array.from({ length: 12 }, () => connected(t, server.port, `GET /pods HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(12_000)}`)));
  const cut = () => large.filter((socket) => socket.destroyed || socket.readableEnded).length;
  await until('those that are too many are cut', () => cut() >= 7);
  t.equal(cut(), 7, 'five of them are within the budget');
  t.notOk(silent.readableEnded, 'who has sent nothing is left alone');
  for (const socket of small) {
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
    });
    socket.write('ret\r\n\r\n');
    await until('a small head is served', () => got.startsWith('HTTP/1.1 200 '));
  }
  // The same connections again: what they sent before their last answer does not count.
  t.equal(small.filter((socket) => socket.readableEnded).length, 0);
});

t.test('a body is read when a route wants it, and not before', async (t) => {
  const seen: unknown[] = [];
  const server = createServer(async (request, response) => {
    const { question } = questionOf(request, response, 100);
    seen.push(request.listenerCount('data'));
    seen.push(await question.body().catch((error: Error) => error.message), await question.body().catch(() => 'again'));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const send = (body: string) =>
    new Promise<void>((resolve) => {
      const { port } = server.address() as AddressInfo;
      const socket = connect(port, '127.0.0.1', () => socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
      socket.on('error', () => {});
      socket.resume();
      socket.once('close', () => resolve());
    });
  await send('hello');
  t.strictSame(seen.splice(0), [0, 'hello', 'hello']);
  await send('x'.repeat(101));
  t.strictSame(seen, [0, 'the request ended before its body did', 'again'], 'one that is too large ends the connection');
});

t.test('tokens that nobody has seen take up a bounded part of the agent’s requests', async (t) => {
  const waiting: (() => void)[] = [];
  const reviews = {
    reviewToken: (token: string) =>
      token === 'known'
        ? Promise.resolve({ username: 'jane', uid: '', groups: [], extra: {} })
        : new Promise<null>((resolve) => {
            waiting.push(() => resolve(null));
          }),
  };
  const authenticator = new Authenticator({ certificates: null, tokens: { reviews, cacheMillis: 60_000 }, anonymous: true, nowMillis: () => 0 });
  const userOf = (token: string) => authenticator.authenticate({ headers: { authorization: `Bearer ${token}` }, certificate: null });
  t.match(await userOf('known'), { username: 'jane' });
  const flood = Array.from({ length: 300 }, (_, i) => userOf(`made-up-${i}`));
  await until('they are asked about', () => waiting.length >= 100);
  t.equal(waiting.length, 100, 'no more of them at once');
  t.strictSame(
    await Promise.all(flood.slice(100)),
    Array.from({ length: 200 }, () => null),
    'the others are refused, and are not anonymous',
  );
  t.match(await userOf('known'), { username: 'jane' }, 'who is known gets in meanwhile');
  for (const answer of waiting.splice(0)) answer();
  t.strictSame(
    await Promise.all(flood.slice(0, 100)),
    Array.from({ length: 100 }, () => null),
  );
  const later = userOf('later');
  await until('it is asked about', () => waiting.length === 1);
  for (const answer of waiting) answer();
  t.equal(await later, null);
});
