// Streams of the kubelet's port: upgrades forwarded byte for byte, streams that stop for slow readers.
import { randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import t from 'tap';
import { type KubeletRoute, KubeletServer } from '../../src/adapters/http-server/index.js';
import { requestPolicy } from '../../src/domain/authorization/request-policy.js';

import { ask, backend, bearer, ca, execTo, serve, upgrade } from './kubelet-server-peer.js';

t.test('an upgraded connection is passed on byte by byte', async (t) => {
  const { url, seen, sockets } = await backend(t);
  const { server } = await serve(t, { routes: execTo(url), owners: { secret: 'jane' } });
  const { socket, head, headers } = await upgrade(server.port, '/exec/ns/p/c?command=sh', bearer('secret'));
  t.equal(headers['x-own'], 'kept', 'the answer’s headers are the runtime’s');
  t.match(seen[0], { url: '/exec/one-time-token?x=1', method: 'POST', headers: { 'x-stream-protocol-version': 'v4.channel.k8s.io', 'x-forwarded-for': '127.0.0.1' } });
  t.equal(seen[0]?.headers.authorization, undefined, 'the token stays here');
  if (socket === null) throw new Error('no upgrade');
  const sent = randomBytes(8 * 1024 * 1024);
  const got: Buffer[] = [head];
  let bytes = head.length;
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      got.push(chunk);
      bytes += chunk.length;
      if (bytes === sent.length + 'hello '.length) resolve();
    });
    socket.write(sent);
  });
  t.ok(Buffer.concat(got).subarray('hello '.length).equals(sent), 'all bytes came back as they were');
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  for (const one of sockets) one.destroy();
  await gone;
  t.pass('the end of one side is the end of the other');
});

/** As a subprotocol. */
const websocketToken = (token: string): string => `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

t.test('a token among the subprotocols of a WebSocket lets in, and is not handed on', async (t) => {
  const { url, seen } = await backend(t);
  const { server, reviews } = await serve(t, { routes: execTo(url), owners: { secret: 'jane' }, anonymous: true });
  const websocket = (protocols: string) => ({ method: 'GET', headers: { Upgrade: 'websocket', 'Sec-WebSocket-Protocol': protocols } });
  const { status, socket } = await upgrade(server.port, '/exec/ns/p/c?command=sh', websocket(`v4.channel.k8s.io, ${websocketToken('secret')},channel.k8s.io`));
  t.equal(status, 101);
  t.equal(seen[0]?.headers['sec-websocket-protocol'], 'v4.channel.k8s.io, channel.k8s.io');
  socket?.destroy();
  t.equal(reviews.asked, 1);
  for (const [sentence, protocols] of [
    ['nobody’s', `${websocketToken('other')}, v4.channel.k8s.io`],
    ['twice', `${websocketToken('secret')}, ${websocketToken('secret')}, v4.channel.k8s.io`],
    ['alone', websocketToken('secret')],
    ['not base64url', `${websocketToken('secret')}==, v4.channel.k8s.io`],
    ['cut off', 'base64url.bearer.authorization.k8s.io.c2Vjc, v4.channel.k8s.io'],
    ['not UTF-8', 'base64url.bearer.authorization.k8s.io._w, v4.channel.k8s.io'],
  ] as const) {
    t.match(await upgrade(server.port, '/exec/ns/p/c', websocket(protocols)), { status: 401 }, `${sentence}: not even as anonymous`);
  }
  // Admitted by a certificate, with an unknown token: it is not forwarded either.
  const { socket: other } = await upgrade(server.port, '/exec/ns/p/c', { ...websocket(websocketToken('secret')), ...ca.sign('joe', [], 'client') });
  t.equal(seen.length, 2);
  t.equal(seen[1]?.headers['sec-websocket-protocol'], undefined);
  other?.destroy();
});

t.test('upgrades that don’t come about', async (t) => {
  const refusing = await backend(t, true);
  const away = new URL('http://127.0.0.1:1/exec/secret-session');
  const { server } = await serve(t, { routes: execTo(refusing.url), anonymous: true });
  t.match(await upgrade(server.port, '/exec/ns/p/c'), { status: 404, body: 'no such session' });
  t.match(await ask(server.port, '/exec/ns/p/c', { method: 'POST' }), { status: 500, body: 'Upgrade request required\n' });
  t.match(await upgrade(server.port, '/pods', { method: 'GET' }), { status: 200, body: '{}' }, 'an upgrade of what has no other protocol is not taken up');
  const other = await serve(t, { routes: execTo(away), anonymous: true });
  const answer = await upgrade(other.server.port, '/exec/ns/p/c');
  t.match(answer, { status: 500, body: /^error dialing backend: / });
  t.notMatch(answer.body, /secret-session/);
  t.strictSame(other.errors, []);
  const shut = await serve(t, { routes: execTo(refusing.url) });
  t.match(await upgrade(shut.server.port, '/exec/ns/p/c'), { status: 401, body: 'Unauthorized' });
});

t.test('a stream stops for a slow reader, and ends with one that is gone', async (t) => {
  let made = 0;
  let ended = false;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        made++;
        yield Buffer.alloc(64 * 1024);
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      ended = true;
    }
  }
  const stream: KubeletRoute = { pattern: '/containerLogs/', methods: ['GET'], produces: null, answer: () => ({ kind: 'stream', status: 200, headers: {}, chunks: chunks() }) };
  const server = await KubeletServer.listen({ address: '127.0.0.1', port: 0, policy: requestPolicy('n'), routes: [stream], tls: null, access: null, onError: () => {} });
  t.teardown(() => server.close(0));
  const response = await new Promise<IncomingMessage>((resolve) =>
    httpRequest({ host: '127.0.0.1', port: server.port, path: '/containerLogs/a/b/c', agent: false }, resolve).end(),
  );
  response.pause();
  let before = -1;
  while (made !== before) {
    before = made;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  t.ok(made < 400, `${made} chunks of 64 KiB were made for a reader that doesn’t read`);
  response.destroy();
  for (let i = 0; i < 100 && !ended; i++) await new Promise((resolve) => setTimeout(resolve, 50));
  t.ok(ended, 'nothing is made for a reader that is gone');
});
