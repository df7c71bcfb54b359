// Network probes against the test's own servers: requests, redirects, and the text of each failure.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { Server as GrpcServer, ServerCredentials, status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { HealthCheckResponse_ServingStatus, HealthService } from '../../src/adapters/probes/gen/grpc-health-v1.js';
import { NetworkProbing } from '../../src/adapters/probes/index.js';
import type { Call } from '../../src/ports/operation.js';
import type { HttpGetAnswer } from '../../src/ports/outbound/probing.js';

t.setTimeout(60_000);

const probing = new NetworkProbing();
const call: Call = { signal: new AbortController().signal, timeoutMicros: null };
const headers = { 'User-Agent': ['kube-probe/1.36'], Accept: ['*/*'] };
const patience = 20_000_000;

async function portOf(t: Test, server: Server | TcpServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function served(t: Test, answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer(answer);
  const port = await portOf(t, server);
  t.teardown(() => server.closeAllConnections());
  return { port, server };
}

/** A free port, on which no process listens. */
async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

t.test('http: what is sent', async (t) => {
  const seen: unknown[] = [];
  const { port } = await served(t, ({ url, rawHeaders, httpVersion }, response) => {
    seen.push([url, httpVersion, rawHeaders.map((text) => text.replace(/:[0-9]+$/, ':PORT'))]);
    response.end('fine');
  });
  const answer = await probing.http({ url: `http://127.0.0.1:${port}/a/../b?q=1#f`, headers: { ...headers, 'X-Two': ['a', 'b'] }, timeoutMicros: patience }, call);
  t.strictSame(answer, { kind: 'answered', statusCode: 200, body: 'fine', bodyReadError: null });
  await probing.http({ url: `http://127.0.0.1:${port}/`, headers: { ...headers, Host: ['app.example'] }, timeoutMicros: null }, call);
  t.strictSame(seen, [
    ['/a/../b?q=1', '1.1', ['User-Agent', 'kube-probe/1.36', 'Accept', '*/*', 'X-Two', 'a', 'X-Two', 'b', 'Host', '127.0.0.1:PORT', 'Connection', 'close']],
    ['/', '1.1', ['User-Agent', 'kube-probe/1.36', 'Accept', '*/*', 'Host', 'app.example', 'Connection', 'close']],
  ]);
});

t.test('http: headers that Go’s client keeps for itself are not sent, whatever the pod says', async (t) => {
  let seen: readonly string[] = [];
  const { port } = await served(t, (request, response) => {
    seen = request.rawHeaders;
    // A request with a body that never comes would hang here.
    request.resume().once('end', () => response.end('fine'));
  });
  const rows: readonly (readonly [given: Record<string, readonly string[]>, sent: Record<string, string>, absent: readonly string[]])[] = [
    [{ 'User-Agent': [''] }, {}, ['User-Agent']],
    [{ 'User-Agent': ['first', 'second'] }, { 'User-Agent': 'first' }, []],
    [{ 'Content-Length': ['100'] }, {}, ['Content-Length']],
    [{ 'Transfer-Encoding': ['chunked'] }, {}, ['Transfer-Encoding']],
    [{ Trailer: ['X-Late'] }, {}, ['Trailer']],
    [{ Host: [''] }, { Host: `127.0.0.1:${port}` }, []],
    [{ Host: ['app.example', 'other.example'] }, { Host: 'app.example' }, []],
    [{ 'X-Own': ['1'] }, { 'X-Own': '1' }, []],
  ];
  for (const [given, sent, absent] of rows) {
    const name = JSON.stringify(given);
    const answer = await probing.http({ url: `http://127.0.0.1:${port}/`, headers: given, timeoutMicros: patience }, call);
    t.match(answer, { kind: 'answered', statusCode: 200 }, name);
    const pairs = seen.flatMap((text, i) => (i % 2 === 0 ? [[text, seen[i + 1] ?? ''] as const] : []));
    for (const [header, value] of Object.entries(sent))
      t.strictSame(
        pairs.filter(([key]) => key.toLowerCase() === header.toLowerCase()),
        [[header, value]],
        name,
      );
    for (const header of absent)
      t.notOk(
        pairs.some(([key]) => key.toLowerCase() === header.toLowerCase()),
        `${name}: no ${header}`,
      );
  }
});

t.test('http: a body is waited for until the limit of what is shown, and no further', async (t) => {
  const limit = 10 * 1024;
  const { port } = await served(t, ({ url = '' }, response) => {
    // What is written, and then nothing more.
    response.write(url === '/character' ? `${'x'.repeat(limit - 1)}é` : 'x'.repeat(Number(url.slice(1))));
  });
  const get = (path: string, timeoutMicros: number) => probing.http({ url: `http://127.0.0.1:${port}${path}`, headers, timeoutMicros }, call);
  for (const length of [limit, limit + 1, limit + 2]) {
    const answer = await get(`/${length}`, patience);
    t.match(answer, { kind: 'answered', bodyReadError: null }, `${length} bytes`);
    t.ok(answer.kind === 'answered' && answer.body.length >= limit, `${length} bytes are there`);
  }
  t.match(await get('/character', patience), { kind: 'answered', bodyReadError: null, body: /xé$/ }, 'a character at the limit is whole');
  t.match(await get(`/${limit - 1}`, 300_000), { kind: 'answered', bodyReadError: /context deadline exceeded/ }, 'a byte less is half an answer');
});

t.test('http: redirects stay on the host', async (t) => {
  const { port } = await served(t, ({ url = '' }, response) => {
    const locations: Record<string, string> = { '/once': '/end', '/away': 'http://other.invalid/', '/loop': '/loop' };
    const location = locations[url];
    if (location !== undefined) response.writeHead(302, { location });
    response.end(url);
  });
  const get = (path: string): Promise<HttpGetAnswer> => probing.http({ url: `http://127.0.0.1:${port}${path}`, headers, timeoutMicros: patience }, call);
  t.strictSame(await get('/once'), { kind: 'answered', statusCode: 200, body: '/end', bodyReadError: null });
  t.strictSame(await get('/away'), { kind: 'answered', statusCode: 302, body: '/away', bodyReadError: null });
  t.strictSame(await get('/loop'), { kind: 'failed', error: 'Get "/loop": stopped after 10 redirects', plainHttp: false });
});

t.test('http: failures by name', async (t) => {
  const { port, server } = await served(t, ({ url }, response) => {
    if (url === '/large') response.end('x'.repeat(100_000));
    if (url === '/broken') {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    }
    if (url === '/slow-body') {
      response.writeHead(200);
      response.write('half');
    }
    if (url === '/drop') response.destroy();
  });
  const get = (path: string, timeoutMicros = patience, scheme = 'http', at = port): Promise<HttpGetAnswer> =>
    probing.http({ url: `${scheme}://127.0.0.1:${at}${path}`, headers, timeoutMicros }, call);
  const large = await get('/large');
  t.equal(large.kind === 'answered' && large.body.length, 10_243, 'a long body is cut');
  t.match(await get('/broken'), { kind: 'answered', statusCode: 200, bodyReadError: 'unexpected EOF' });
  t.match(await get('/slow-body', 300_000), { kind: 'answered', bodyReadError: 'context deadline exceeded (Client.Timeout or context cancellation while reading body)' });
  t.match(await get('/hang', 100_000), { kind: 'failed', error: /: context deadline exceeded \(Client.Timeout exceeded while awaiting headers\)$/ });
  t.match(await get('/drop'), { kind: 'failed', error: /: EOF$/ });
  t.match(await get('/', patience, 'https'), { kind: 'failed', plainHttp: true, error: `Get "https://127.0.0.1:${port}/": http: server gave HTTP response to HTTPS client` });
  const free = await freePort();
  t.match(await get('/', patience, 'http', free), { kind: 'failed', error: `Get "http://127.0.0.1:${free}/": dial tcp 127.0.0.1:${free}: connect: connection refused` });
  server.closeAllConnections();
  const controller = new AbortController();
  const given = probing.http({ url: `http://127.0.0.1:${port}/hang`, headers, timeoutMicros: null }, { signal: controller.signal, timeoutMicros: null });
  controller.abort();
  await t.rejects(given, { message: 'context canceled', operation: 'probing.http' } as object as Error);
});

t.test('tcp', async (t) => {
  let closed = 0;
  const server = createTcpServer((socket) => socket.resume().on('close', () => closed++));
  const port = await portOf(t, server);
  t.strictSame(await probing.tcp({ host: '127.0.0.1', port, timeoutMicros: patience }, call), { error: null });
  for (let i = 0; closed === 0 && i < 1_000; i++) await new Promise((resolve) => setImmediate(resolve));
  t.equal(closed, 1, 'and the connection is closed');
  const free = await freePort();
  t.strictSame(await probing.tcp({ host: '127.0.0.1', port: free, timeoutMicros: patience }, call), { error: `dial tcp 127.0.0.1:${free}: connect: connection refused` });
});

t.test('grpc', async (t) => {
  const agents: string[] = [];
  const server = new GrpcServer();
  server.addService(HealthService, {
    check({ request, metadata }: { request: { service: string }; metadata: { get(name: string): unknown[] } }, callback: (error: object | null, value?: object) => void) {
      agents.push(String(metadata.get('user-agent')[0]));
      if (request.service === 'none') callback({ code: status.NOT_FOUND, details: 'unknown service' });
      else if (request.service !== 'hangs') callback(null, { status: HealthCheckResponse_ServingStatus[request.service === '' ? 'SERVING' : 'NOT_SERVING'] });
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error === null ? resolve(bound) : reject(error))),
  );
  t.teardown(() => server.forceShutdown());
  const ask = (service: string, timeoutMicros = patience, at = port) => probing.grpc({ host: '127.0.0.1', port: at, service, userAgent: 'kube-probe/1.36', timeoutMicros }, call);
  t.strictSame(await ask(''), { kind: 'status', servingStatus: 'SERVING' });
  t.strictSame(await ask('sick'), { kind: 'status', servingStatus: 'NOT_SERVING' });
  t.strictSame(await ask('none'), { kind: 'rpc-error', code: 'NotFound', message: 'unknown service' });
  t.match(await ask('hangs', 500_000), { kind: 'rpc-error', code: 'DeadlineExceeded' });
  t.match(agents[0], /^kube-probe\/1\.36 /);
  const free = await freePort();
  t.strictSame(await ask('', 300_000, free), { kind: 'dial-error', address: `127.0.0.1:${free}`, timedOut: true, error: 'context deadline exceeded' });
});
