// The loopback HTTP server: answers as a running kubelet gave them, and clients that mean no good.
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { type HttpLimits, healthRoutes, LoopbackHttpServer, pingOnly, podsRoutes, type Route } from '../../src/adapters/http-server/index.js';
import { type HealthCheck, podList } from '../../src/ports/inbound/agent-queries.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { PortError } from '../../src/ports/port-error.js';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function ask(port: number, path: string, options: { method?: string; headers?: Record<string, string>; body?: string } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, method: options.method ?? 'GET', headers: options.headers ?? {}, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(options.body);
  });
}

async function served(t: Test, routes: readonly Route[], limits: Partial<HttpLimits> = {}, onError?: (error: unknown, path: string) => void): Promise<LoopbackHttpServer> {
  const server = await LoopbackHttpServer.listen({ address: '127.0.0.1', port: 0, routes, limits, ...(onError === undefined ? {} : { onError }) });
  t.teardown(() => server.close(0));
  return server;
}

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: [{ name: 'c', image: 'i', command: ['echo x > /s && y <z'] }] },
  status: { conditions: [{ type: 'Ready', observedGeneration: 1, status: 'True', reason: 'r' }] },
};
const checks = (...failing: readonly string[]): readonly HealthCheck[] =>
  ['ping', 'log', 'syncloop'].map((name) => ({ name, failure: failing.includes(name) ? `${name} is stuck` : null }));

const plain = 'text/plain; charset=utf-8';
const strict = { 'content-type': plain, 'x-content-type-options': 'nosniff' };
/** Method, path, then what must come: status, body, headers. */
const exchanges: readonly (readonly [method: string, path: string, status: number, body: string, headers: Record<string, string | undefined>, accept?: string])[] = [
  ['GET', '/healthz', 200, 'ok', { ...strict, 'content-length': '2' }],
  ['HEAD', '/healthz', 200, '', { ...strict, 'content-length': '2' }],
  ['POST', '/healthz', 200, 'ok', strict],
  ['GET', '/healthz?verbose', 200, '[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n', strict],
  ['GET', '/healthz?verbose=false', 200, '[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n', strict],
  ['GET', '/healthz?verbose&exclude=syncloop', 200, '[+]ping ok\n[+]log ok\n[+]syncloop excluded: ok\nhealthz check passed\n', strict],
  [
    'GET',
    '/healthz?verbose&exclude=nope',
    200,
    '[+]ping ok\n[+]log ok\n[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for "nope"\nhealthz check passed\n',
    strict,
  ],
  ['GET', '/healthz/ping', 200, 'ok', { 'content-type': plain, 'x-content-type-options': undefined }],
  ['GET', '/healthz/syncloop', 200, 'ok', {}],
  ['GET', '/healthz/nope', 404, '404 page not found\n', { ...strict, 'content-length': '19' }],
  ['GET', '/healthz/', 404, '404 page not found\n', strict],
  ['GET', '/healthzjunk', 404, '404 page not found\n', strict],
  ['GET', '/', 404, '404 page not found\n', strict],
  ['GET', '/pods/x', 404, '404 page not found\n', strict],
  ['POST', '/pods', 405, '405: Method Not Allowed', { allow: 'GET', 'content-type': plain, 'content-length': '23' }],
  ['DELETE', '/pods', 405, '405: Method Not Allowed', { allow: 'GET' }],
  ['HEAD', '/pods', 405, '', { allow: 'GET', 'content-length': '23' }],
  ['GET', '/pods', 406, '406: Not Acceptable\n\nAvailable representations: application/json', { 'content-length': '64' }, 'application/xml'],
  ['GET', '/pods', 406, '406: Not Acceptable\n\nAvailable representations: application/json', {}, 'application/vnd.kubernetes.protobuf'],
  ['GET', '//pods', 307, '<a href="/pods">Temporary Redirect</a>.\n\n', { location: '/pods', 'content-type': 'text/html; charset=utf-8', 'content-length': '41' }],
  ['GET', '/x/../pods?a=b', 307, '<a href="/pods?a=b">Temporary Redirect</a>.\n\n', { location: '/pods?a=b' }],
  ['GET', '/%2e%2e//evil.example/"><b>', 307, '<a href="/evil.example/%22%3E%3Cb%3E">Temporary Redirect</a>.\n\n', { location: '/evil.example/%22%3E%3Cb%3E' }],
  ['GET', '/%zz', 400, '400 Bad Request', {}],
  ['GET', '/%00', 400, '400 Bad Request', {}],
];

t.test('answers as a kubelet gives them', async (t) => {
  const { port } = await served(t, [...healthRoutes(() => checks()), ...podsRoutes({ pods: () => podList([pod]) })]);
  for (const [method, path, status, body, headers, accept] of exchanges) {
    const answer = await ask(port, path, { method, headers: accept === undefined ? {} : { accept } });
    t.strictSame([answer.status, answer.body], [status, body], `${method} ${path}`);
    for (const [name, value] of Object.entries(headers)) t.equal(answer.headers[name], value, `${method} ${path}: ${name}`);
  }
  for (const [path, accept] of [
    ['/pods', '*/*'],
    ['/pods/', ''],
    ['/%70ods', 'text/html, application/json;q=0.1'],
    ['http://any.example/pods', '*/*'],
  ] as const) {
    const answer = await ask(port, path, { headers: accept === '' ? {} : { accept } });
    t.strictSame([answer.status, answer.headers['content-type']], [200, 'application/json'], path);
    t.ok(answer.body.startsWith('{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web"'), path);
    t.ok(answer.body.includes('echo x \\u003e /s \\u0026\\u0026 y \\u003cz') && answer.body.endsWith(']}\n'), 'escaped as Go escapes');
    const { apiVersion: _, kind: __, ...item } = pod;
    const status = { conditions: [{ type: 'Ready', observedGeneration: 1, status: 'True', lastProbeTime: null, reason: 'r' }] };
    t.strictSame((JSON.parse(answer.body) as { items: unknown }).items, [{ ...item, status }], 'as Go prints them');
  }
});

t.test('no pods, failing checks, a handler that throws, and the port that only says it is alive', async (t) => {
  const thrown: string[] = [];
  const routes = [...healthRoutes(() => checks('syncloop')), ...podsRoutes({ pods: () => podList([]) })];
  const breaking: Route = {
    path: '/broken',
    methods: null,
    produces: null,
    answer: () => {
      throw new Error('secret detail');
    },
  };
  const { port } = await served(t, [...routes, breaking], {}, (error, path) => thrown.push(`${path} ${String(error)}`));
  t.equal((await ask(port, '/pods')).body, '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}\n');
  t.match(await ask(port, '/healthz'), { status: 500, body: '[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n', headers: strict });
  t.match(await ask(port, '/healthz?exclude=syncloop'), { status: 200, body: 'ok' });
  t.match(await ask(port, '/healthz/syncloop'), { status: 500, body: 'internal server error: syncloop is stuck\n', headers: strict });
  t.match(await ask(port, '/broken'), { status: 500, body: 'internal server error\n' });
  t.strictSame(thrown, ['/broken Error: secret detail']);
  t.match(await ask(port, '/healthz/ping'), { status: 200 }, 'and goes on');
  const alive = await served(t, healthRoutes(pingOnly));
  t.equal((await ask(alive.port, '/healthz?verbose')).body, '[+]ping ok\nhealthz check passed\n');
  t.match(await ask(alive.port, '/healthz/log'), { status: 404 });
});

async function listenFailure(address: string, port: number): Promise<string> {
  try {
    await (await LoopbackHttpServer.listen({ address, port, routes: [] })).close(0);
    return 'listened';
  } catch (error) {
    return error instanceof PortError ? error.kind : String(error);
  }
}

t.test('where it listens', async (t) => {
  const { port } = await served(t, []);
  t.ok(port > 0);
  for (const address of ['0.0.0.0', '::', '192.0.2.1', 'localhost', '', '127.0.0.1.example', '10.0.0.1']) t.equal(await listenFailure(address, 0), 'invalid-argument', address);
  t.equal(await listenFailure('127.0.0.2', 0), 'listened');
  t.equal(await listenFailure('127.0.0.1', port), 'already-exists');
});

function raw(t: Test, port: number, text: string): { readonly socket: Socket; readonly ended: Promise<string> } {
  const socket = connect({ host: '127.0.0.1', port });
  let received = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => {});
  socket.write(text);
  t.teardown(() => socket.destroy());
  return { socket, ended: once(socket, 'close').then(() => received) };
}

t.test('clients that are slow, silent, wordy or many', async (t) => {
  const big: Route = { path: '/big', methods: null, produces: null, answer: () => ({ status: 200, headers: {}, body: 'x'.repeat(32 * 1024 * 1024) }) };
  const limits = { headerBytesMax: 4096, bodyBytesMax: 10_000, connectionsMax: 3, headersMillis: 100, requestMillis: 200, stalledMillis: 400, keepAliveMillis: 100 };
  const { port } = await served(t, [...healthRoutes(pingOnly), big], limits);
  t.match(await raw(t, port, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX: ').ended, /^HTTP\/1\.1 408 /, 'headers that do not end');
  t.match(await raw(t, port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(5000)}\r\n\r\n`).ended, /^HTTP\/1\.1 431 /, 'headers that are too long');
  t.match(await raw(t, port, 'nonsense\r\n\r\n').ended, /^HTTP\/1\.1 400 /);
  t.match(await raw(t, port, '').ended, /^(HTTP\/1\.1 408 |$)/, 'nothing at all');
  t.match(await raw(t, port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n').ended, /ok$/, 'a connection that is kept open for nothing is closed');
  const wordy = raw(t, port, `POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n${'z'.repeat(200_000)}`);
  t.match(await wordy.ended, /^(HTTP\/1\.1 200 |$)/, 'a body beyond the limit is cut off');
  const stalled = connect({ host: '127.0.0.1', port });
  stalled.on('error', () => {});
  stalled.write('GET /big HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(stalled, 'readable');
  t.match(await ask(port, '/healthz'), { status: 200 }, 'a client that does not read holds up nobody');
  const many = Array.from({ length: 8 }, () => raw(t, port, ''));
  await Promise.all(many.map(({ ended }) => ended));
  stalled.resume();
  await once(stalled, 'close');
  t.match(await ask(port, '/healthz'), { status: 200, body: 'ok' }, 'and afterwards it is as before');
});

t.test('stopping: idle connections close at once, slow ones after the grace', async (t) => {
  const server = await LoopbackHttpServer.listen({ address: '127.0.0.1', port: 0, routes: healthRoutes(pingOnly) });
  const idle = raw(t, server.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  const half = raw(t, server.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n');
  await Promise.all([once(idle.socket, 'data'), once(half.socket, 'connect')]);
  const { port } = server;
  await Promise.all([server.close(50), server.close(50)]);
  t.match(await idle.ended, /ok$/);
  await half.ended;
  await t.rejects(ask(port, '/healthz'), { code: 'ECONNREFUSED' });
});
