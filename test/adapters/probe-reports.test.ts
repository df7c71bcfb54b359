// Field reports of network probes, from the request on the wire to the verdict: KB032 (redirects of HTTP probes) and KB035 (gRPC health).
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { Server as GrpcServer, ServerCredentials, status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { issueCertificate } from '../../src/adapters/certificates/index.js';
import { HealthCheckResponse_ServingStatus, HealthService } from '../../src/adapters/probes/gen/grpc-health-v1.js';
import { NetworkProbing } from '../../src/adapters/probes/index.js';
import { grpcProbeOutcome } from '../../src/domain/probes/grpc-probe.js';
import { httpProbeFailed, httpProbeOutcome, httpProbeRequest } from '../../src/domain/probes/http-probe.js';
import { probeEvent } from '../../src/domain/probes/probe-outcome.js';
import type { Call } from '../../src/ports/operation.js';

t.setTimeout(60_000);

const probing = new NetworkProbing();
const call: Call = { signal: new AbortController().signal, timeoutMicros: null };
const patience = 20_000_000;

async function portOf(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

function selfSigned(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = { commonName: 'somebody.else', organizations: [] };
  const hour = 3_600_000;
  const times = { notBeforeMillis: Date.now() - 2 * hour, notAfterMillis: Date.now() - hour };
  const cert = issueCertificate({ ...subject, ...times, dnsNames: [], ipAddresses: [], publicKey, isAuthority: false, purposes: ['server'] }, { ...subject, privateKey });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

async function verdict(path: string, port: number, scheme = 'HTTP') {
  const built = httpProbeRequest({ path, port, scheme, host: '127.0.0.1' }, [], '10.0.0.1', '1.36');
  if (!built.ok) throw new Error(built.error);
  const answer = await probing.http({ ...built.request, timeoutMicros: patience }, call);
  const outcome = answer.kind === 'failed' ? httpProbeFailed(answer.error) : httpProbeOutcome(answer.statusCode, answer.body, answer.bodyReadError);
  return { result: outcome.result, event: probeEvent('liveness', outcome) };
}

t.test('KB032: redirects of an HTTP probe', async (t) => {
  const agents = new Set<string | undefined>();
  const answer: RequestListener = ({ url = '', headers }, response) => {
    agents.add(headers['user-agent']);
    const [, code = url === '/fail' ? '500' : '200', to = ''] = url.split('!');
    const location = to === '' ? {} : { location: to };
    response.writeHead(Number(code), location).end(`body of ${code}`);
  };
  const port = await portOf(t, createServer(answer));
  const secure = await portOf(t, createTlsServer(selfSigned(), answer));
  const unhealthy = (message: string) => ({ result: 'failure', event: { reason: 'Unhealthy', message: `Liveness probe failed: ${message}` } });
  const warned = (message: string) => ({ result: 'warning', event: { reason: 'ProbeWarning', message: `Liveness probe warning: ${message}` } });
  const fine = { result: 'success', event: null };
  const rows: readonly (readonly [sentence: string, path: string, expected: object])[] = [
    ['to a path of the same host: followed', '/!302!/end', fine],
    ['each kind of redirect is', '/!301!/end', fine],
    ['303', '/!303!/end', fine],
    ['307', '/!307!/end', fine],
    ['308', '/!308!/end', fine],
    ['to https of the same host, whose certificate is expired and of another name: followed, unverified', `/!302!https://127.0.0.1:${secure}/end`, fine],
    ['to a failure on the same host', '/!302!/fail', unhealthy('HTTP probe failed with statuscode: 500')],
    [
      'to another name of the same address: not followed, a success with a warning',
      `/!302!http://localhost:${port}/fail`,
      warned('Probe terminated redirects, Response body: body of 302'),
    ],
    ['to another host', '/!302!http://other.invalid/', warned('Probe terminated redirects, Response body: body of 302')],
    ['without a Location', '/!302!', warned('Probe terminated redirects, Response body: body of 302')],
    ['304 is no redirect', '/!304!/end', warned('Probe terminated redirects, Response body: ')],
    ['399 neither', '/!399!/end', warned('Probe terminated redirects, Response body: body of 399')],
    ['400 is a failure', '/!400!/end', unhealthy('HTTP probe failed with statuscode: 400')],
  ];
  for (const [sentence, path, expected] of rows) t.match(await verdict(path, port), expected, sentence);
  t.match(await verdict('/end', secure, 'HTTPS'), fine, 'a probe by https verifies nothing');
  t.strictSame([...agents], ['kube-probe/1.36'], 'and the same user agent asks everywhere');
});

t.test('KB032: an endless loop ends after ten requests', async (t) => {
  let requests = 0;
  const port = await portOf(
    t,
    createServer((_request, response) => {
      requests++;
      response.writeHead(302, { location: `/${requests}` }).end();
    }),
  );
  const { result, event } = await verdict('/', port);
  t.equal(result, 'failure');
  t.match(event?.message, /stopped after 10 redirects$/);
  t.equal(requests, 10);
});

interface Asking {
  readonly request: { readonly service: string };
  readonly metadata: { get(name: string): readonly unknown[] };
  getHost(): string;
}

t.test('KB035: gRPC health by what the server is', async (t) => {
  const asked: string[] = [];
  const server = new GrpcServer();
  server.addService(HealthService, {
    check(asking: Asking, callback: (error: object | null, value?: object) => void) {
      asked.push(`${asking.metadata.get('user-agent')[0]} ${asking.getHost()}`);
      const { service } = asking.request;
      if (service === 'missing') callback({ code: status.NOT_FOUND, details: 'unknown service' });
      else if (service !== 'silent') callback(null, { status: HealthCheckResponse_ServingStatus[(service === '' ? 'SERVING' : service) as 'SERVING'] });
    },
  });
  const bound = (grpc: GrpcServer, credentials = ServerCredentials.createInsecure()): Promise<number> =>
    new Promise((resolve, reject) => {
      grpc.bindAsync('127.0.0.1:0', credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
      t.teardown(() => grpc.forceShutdown());
    });
  const port = await bound(server);
  const bare = await bound(new GrpcServer());
  const { cert, key } = selfSigned();
  const tls = await bound(new GrpcServer(), ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(cert), private_key: Buffer.from(key) }]));
  const plain = await portOf(
    t,
    createServer((_request, response) => response.end('hello')),
  );
  let open = 0;
  const mute = createTcpServer((socket) => {
    open++;
    socket
      .on('error', () => {})
      .on('close', () => open--)
      .resume();
  });
  const silent = await portOf(t, mute);
  const limit = 700_000;
  const ask = async (service: string, at: number) =>
    grpcProbeOutcome(await probing.grpc({ host: '127.0.0.1', port: at, service, userAgent: 'kube-probe/1.36', timeoutMicros: limit }, call), limit);
  const rows: readonly (readonly [sentence: string, service: string, port: number, result: string, output: RegExp])[] = [
    ['the server as a whole', '', port, 'success', /^service healthy$/],
    ['a service that serves', 'SERVING', port, 'success', /^service healthy$/],
    ['one that does not', 'NOT_SERVING', port, 'failure', /^service unhealthy \(responded with "NOT_SERVING"\)$/],
    ['one that does not know', 'UNKNOWN', port, 'failure', /^service unhealthy \(responded with "UNKNOWN"\)$/],
    ['an unknown name', 'missing', port, 'failure', /^error: health rpc probe failed: .*unknown service/],
    ['a server without the health service', '', bare, 'failure', /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /],
    ['no answer to the call', 'silent', port, 'failure', /^timeout: health rpc did not complete within 700ms$/],
    ['TLS only', '', tls, 'failure', /^timeout: failed to connect service "127\.0\.0\.1:\d+" within 700ms: context deadline exceeded$/],
    ['plain HTTP/1', '', plain, 'failure', /./],
    ['a port that says nothing', '', silent, 'failure', /./],
  ];
  for (const [sentence, service, at, result, output] of rows) {
    const begun = performance.now();
    const outcome = await ask(service, at);
    t.equal(outcome.result, result, sentence);
    t.match(outcome.kind === 'result' ? outcome.output : outcome.error, output, `${sentence}: what is said`);
    t.ok(performance.now() - begun < 5_000, `${sentence}: the limit is of connecting and calling together`);
  }
  for (const end = Date.now() + 5_000; open > 0 && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 10));
  t.equal(open, 0, 'a connection to a port that says nothing is closed with its probe');
  t.ok(
    asked.every((line) => /^kube-probe\/1\.36 .*127\.0\.0\.1:\d+$/.test(line)),
    `who asks, and whom: ${asked[0]}`,
  );
});
