// Field reports about probes, tested on the test's own servers, from the action in a pod's spec to the text of its event. Each is
// named by its report. Also: the descriptors left open after many probes.
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { Server as GrpcServer, ServerCredentials, status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { HealthCheckResponse_ServingStatus, HealthService } from '../../src/adapters/probes/gen/grpc-health-v1.js';
import { NetworkProbing } from '../../src/adapters/probes/index.js';
import { grpcProbeOutcome } from '../../src/domain/probes/grpc-probe.js';
import { httpProbeFailed, httpProbeOutcome, httpProbeRequest } from '../../src/domain/probes/http-probe.js';
import { type ProbeOutcome, probeEvent } from '../../src/domain/probes/probe-outcome.js';
import type { HTTPGetAction } from '../../src/ports/model/container.js';
import type { Call } from '../../src/ports/operation.js';
import { TestAuthority } from './api-peer.js';

t.setTimeout(120_000);

const probing = new NetworkProbing();
/** One of its own for each, as the daemon's shell makes them. */
const call = (): Call => ({ signal: new AbortController().signal, timeoutMicros: null });
const patience = 20_000_000;
const short = 400_000;

async function portOf(t: Test, server: Server | TcpServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** It reads, or it would not notice that the other side has gone, and says nothing. */
function muteServer(t: Test): TcpServer {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.resume();
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  return server;
}

/** Result and event, as a liveness probe of a pod at 127.0.0.1 has them; ports are no part of the words. */
async function probed(action: HTTPGetAction, timeoutMicros = patience): Promise<readonly [result: string, event: string | null]> {
  const built = httpProbeRequest(action, [], '127.0.0.1', '1.36');
  if (!built.ok) throw new Error(built.error);
  const answer = await probing.http({ ...built.request, timeoutMicros }, call());
  return told(answer.kind === 'failed' ? httpProbeFailed(answer.error) : httpProbeOutcome(answer.statusCode, answer.body, answer.bodyReadError));
}

function told(outcome: ProbeOutcome): readonly [string, string | null] {
  const event = probeEvent('liveness', outcome);
  return [outcome.kind === 'error' ? 'error' : outcome.result, event === null ? null : `${event.reason} ${event.message.replace(/127\.0\.0\.1:[0-9]+/g, 'POD')}`];
}

t.test('KB032 which redirects are followed, and what the others count for', async (t) => {
  const asked: IncomingMessage[] = [];
  let securePort = 0;
  const answer: RequestListener = (request, response) => {
    asked.push(request);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://pod');
    const n = Number(searchParams.get('n'));
    const locations: Record<string, string> = {
      '/same': '/end',
      '/other': 'http://localhost:1/end',
      '/secure': `https://127.0.0.1:${securePort}/end`,
      '/loop': `/loop?n=${n + 1}`,
      '/hops': n < 9 ? `/hops?n=${n + 1}` : '/end',
      '/bad': 'http://[::1/',
      '/fails': '/code/500',
    };
    const code = Number(/^\/code\/([0-9]+)$/.exec(pathname)?.[1] ?? 0);
    const location = locations[pathname];
    const kind = Number(/^\/moved\/([0-9]+)$/.exec(pathname)?.[1] ?? 0);
    if (kind !== 0) response.writeHead(kind, { location: '/end' });
    else if (code !== 0) response.writeHead(code);
    else if (location !== undefined) response.writeHead(302, { location });
    response.end(`at ${pathname}`);
  };
  // Expired, for another name and another purpose.
  const { certificate, key } = new TestAuthority().client('somebody.else', -2, -1);
  securePort = await portOf(t, createTlsServer({ cert: certificate, key }, answer));
  const port = await portOf(t, createServer(answer));
  const warned = (path: string): string => `ProbeWarning Liveness probe warning: Probe terminated redirects, Response body: at ${path}`;
  const rows: readonly (readonly [what: string, path: string, result: string, event: string | null, requests: number])[] = [
    ['the same host is followed', '/same', 'success', null, 2],
    ...[301, 303, 307, 308].map((kind) => [`with ${kind}, too`, `/moved/${kind}`, 'success', null, 2] as const),
    ['to https, too, whatever its certificate', '/secure', 'success', null, 2],
    ['and its failure is one', '/fails', 'failure', 'Unhealthy Liveness probe failed: HTTP probe failed with statuscode: 500', 2],
    ['another host name is not asked, and counts as a success', '/other', 'warning', warned('/other'), 1],
    ['nine hops are well', '/hops?n=1', 'success', null, 10],
    ['the tenth is one too many', '/loop?n=0', 'failure', 'Unhealthy Liveness probe failed: Get "/loop?n=10": stopped after 10 redirects', 10],
    ['without Location', '/code/302', 'warning', warned('/code/302'), 1],
    ['304', '/code/304', 'warning', 'ProbeWarning Liveness probe warning: Probe terminated redirects, Response body: ', 1],
    ['399', '/code/399', 'warning', warned('/code/399'), 1],
    ['400', '/code/400', 'failure', 'Unhealthy Liveness probe failed: HTTP probe failed with statuscode: 400', 1],
    ['299', '/code/299', 'success', null, 1],
  ];
  for (const [what, path, result, event, requests] of rows) {
    asked.length = 0;
    t.strictSame([...(await probed({ port, path })), asked.length], [result, event, requests], what);
  }
  t.match(await probed({ port, path: '/bad' }), ['failure', /^Unhealthy Liveness probe failed: Get "http:\/\/POD\/bad": failed to parse Location header "http:\/\/\[::1\/"/]);
  t.strictSame(await probed({ port: securePort, path: '/end', scheme: 'HTTPS' }), ['success', null], 'a probe by https verifies nothing');
  const hostsOf = async (path: string): Promise<unknown[]> => {
    asked.length = 0;
    await probed({ port, path, httpHeaders: [{ name: 'host', value: 'app.example' }] });
    return asked.map(({ headers }) => [headers.host?.replace(String(securePort), 'TLS'), headers['user-agent'], headers.referer?.replace(String(port), 'PORT')]);
  };
  const first = ['app.example', 'kube-probe/1.36', undefined];
  t.strictSame(await hostsOf('/same'), [first, ['app.example', 'kube-probe/1.36', 'http://127.0.0.1:PORT/same']], 'a path keeps the Host that was asked for');
  t.strictSame(await hostsOf('/secure'), [first, ['127.0.0.1:TLS', 'kube-probe/1.36', 'http://127.0.0.1:PORT/secure']], 'another address has its own');
});

/** A server of the health service, and how often a connection to it began. */
async function healthServer(t: Test, credentials: ServerCredentials, implemented = true) {
  const seen: { readonly agent: string; readonly host: string }[] = [];
  const server = new GrpcServer();
  const check = (
    call: { request: { service: string }; metadata: { get(name: string): unknown[] }; getHost(): string },
    callback: (error: object | null, value?: object) => void,
  ): void => {
    seen.push({ agent: String(call.metadata.get('user-agent')[0]), host: call.getHost() });
    const { service } = call.request;
    const known = HealthCheckResponse_ServingStatus[service as keyof typeof HealthCheckResponse_ServingStatus];
    if (service === 'unheard-of') callback({ code: status.NOT_FOUND, details: 'unknown service' });
    else if (service === 'locked') callback({ code: status.PERMISSION_DENIED, details: 'no' });
    else if (service !== 'silent') callback(null, { status: known ?? HealthCheckResponse_ServingStatus.SERVING });
  };
  if (implemented) server.addService(HealthService, { check });
  const port = await new Promise<number>((resolve, reject) => server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error))));
  t.teardown(() => server.forceShutdown());
  return { port, seen };
}

t.test('KB035 health of gRPC servers of all kinds', async (t) => {
  const { port, seen } = await healthServer(t, ServerCredentials.createInsecure());
  const bare = await healthServer(t, ServerCredentials.createInsecure(), false);
  const { certificate, key } = new TestAuthority().server();
  const secure = await healthServer(t, ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) }]));
  const plain = await portOf(
    t,
    createServer((_, response) => response.end('hello')),
  );
  const mute = await portOf(t, muteServer(t));
  const ask = async (service: string, at: number, timeoutMicros: number) => {
    const begun = performance.now();
    const reply = await probing.grpc({ host: '127.0.0.1', port: at, service, userAgent: 'kube-probe/1.36', timeoutMicros }, call());
    t.ok(performance.now() - begun < timeoutMicros / 1_000 + 5_000, 'the limit holds for connecting and asking together');
    return told(grpcProbeOutcome(reply, timeoutMicros));
  };
  const failed = (text: string) => ['failure', `Unhealthy Liveness probe failed: ${text}`] as const;
  const unreachable = failed('timeout: failed to connect service "POD" within 400ms: context deadline exceeded');
  const rows: readonly (readonly [what: string, service: string, at: number, timeoutMicros: number, expected: readonly [string, string | null]])[] = [
    ['the server as a whole', '', port, patience, ['success', null]],
    ['a service that serves', 'SERVING', port, patience, ['success', null]],
    ['one that does not', 'NOT_SERVING', port, patience, failed('service unhealthy (responded with "NOT_SERVING")')],
    ['one whose health nobody knows', 'UNKNOWN', port, patience, failed('service unhealthy (responded with "UNKNOWN")')],
    ['one that nobody knows', 'SERVICE_UNKNOWN', port, patience, failed('service unhealthy (responded with "SERVICE_UNKNOWN")')],
    ['a name that the server never heard', 'unheard-of', port, patience, failed('error: health rpc probe failed: rpc error: code = NotFound desc = unknown service')],
    ['a refusal', 'locked', port, patience, failed('error: health rpc probe failed: rpc error: code = PermissionDenied desc = no')],
    ['no answer', 'silent', port, short, failed('timeout: health rpc did not complete within 400ms')],
    ['only TLS', '', secure.port, short, unreachable],
    ['HTTP/1', '', plain, short, unreachable],
    ['a connection and nothing else', '', mute, short, unreachable],
  ];
  for (const [what, service, at, timeoutMicros, expected] of rows) t.strictSame(await ask(service, at, timeoutMicros), expected, what);
  const well = await probing.grpc({ host: '127.0.0.1', port, service: '', userAgent: 'kube-probe/1.36', timeoutMicros: patience }, call());
  t.match(grpcProbeOutcome(well, patience), { output: 'service healthy' });
  const [result, event] = await ask('', bare.port, patience);
  t.equal(result, 'failure');
  t.match(event, /^Unhealthy Liveness probe failed: error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /);
  t.match(seen[0], { host: `127.0.0.1:${port}`, agent: /^kube-probe\/1\.36 / }, ':authority and user agent');
});

t.test('bodies and headers of any length', async (t) => {
  const port = await portOf(
    t,
    createServer(({ url = '' }, response) => {
      if (url === '/headers') response.setHeader('x-long', 'h'.repeat(200_000));
      response.writeHead(url === '/moved' ? 300 : 200);
      if (url === '/drip') {
        response.write('x');
        return;
      }
      response.end('é'.repeat(100_000));
    }),
  );
  const [, event] = await probed({ port, path: '/moved' });
  t.equal(event, `ProbeWarning Liveness probe warning: Probe terminated redirects, Response body: ${'é'.repeat(5 * 1024)}`, 'cut at 10 KiB');
  t.strictSame(await probed({ port, path: '/headers' }), ['success', null], 'as many headers as the reference takes');
  const [result, dripping] = await probed({ port, path: '/drip' }, short);
  t.equal(result, 'error', 'half an answer says nothing of the container');
  t.match(dripping, /^Unhealthy Liveness probe errored and resulted in failure state: /);
});

t.test('a server that sends its answer byte by byte is cut off in time', async (t) => {
  const server = createTcpServer((socket) => {
    const text = `HTTP/1.1 200 OK\r\nX-Slow: ${'a'.repeat(1_000)}`;
    let sent = 0;
    const timer = setInterval(() => socket.write(text.charAt(sent++ % text.length)), 20);
    socket.on('error', () => undefined).on('close', () => clearInterval(timer));
    socket.resume();
  });
  const port = await portOf(t, server);
  const begun = performance.now();
  const slow = 'Unhealthy Liveness probe failed: Get "http://POD/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
  t.strictSame(await probed({ port, path: '/' }, short), ['failure', slow]);
  t.ok(performance.now() - begun < 5_000);
});

t.test('nothing is left open after thousands of probes', async (t) => {
  const port = await portOf(
    t,
    createServer(({ url }, response) => {
      if (url === '/drop') response.destroy();
      else if (url === '/half') response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy());
      else if (url === '/away') response.writeHead(302, { location: 'http://other.invalid/' }).end();
      else if (url === '/long') response.end('x'.repeat(200_000));
      else if (url !== '/hang') response.end('well');
    }),
  );
  const mute = await portOf(t, muteServer(t));
  const health = await healthServer(t, ServerCredentials.createInsecure());
  const grpc = (at: number, timeoutMicros: number) => probing.grpc({ host: '127.0.0.1', port: at, service: '', userAgent: 'kube-probe/1.36', timeoutMicros }, call());
  const kinds: readonly (() => Promise<unknown>)[] = [
    ...['/', '/drop', '/half', '/away', '/long'].map((path) => () => probed({ port, path })),
    () => probed({ port, path: '/hang' }, 50_000),
    () => probed({ port: mute, path: '/' }, 50_000),
    () => probing.tcp({ host: '127.0.0.1', port: mute, timeoutMicros: patience }, call()),
  ];
  const rounds = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await Promise.all(Array.from({ length: 5 }, () => kinds.map((ask) => ask())).flat());
    await Promise.all([...Array.from({ length: count }, () => grpc(health.port, patience)), ...Array.from({ length: count }, () => grpc(mute, 50_000))]);
  };
  /** Both ends are in this process, so that descriptors of either are counted. */
  const open = (): number => readdirSync('/proc/self/fd').length;
  await rounds(1);
  const settled = async (most: number): Promise<number> => {
    for (let i = 0; open() > most && i < 200; i++) await new Promise((resolve) => setTimeout(resolve, 25));
    return open();
  };
  const before = open();
  // A server's end of the newest connections may close a moment later.
  const most = before + 10;
  await rounds(50);
  t.ok((await settled(most)) <= most, `${open()} descriptors after 2 000 probes, ${before} before`);
});
