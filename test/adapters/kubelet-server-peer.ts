// A kubelet's port with routes of a test, clients for it, and a streaming server of a runtime behind it.
import { generateKeyPairSync } from 'node:crypto';
import { createServer as createHttp, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type t from 'tap';
import { issueCertificate } from '../../src/adapters/certificates/index.js';
import {
  Authenticator,
  type Authorizer,
  alwaysAllow,
  ClientCertificates,
  type KubeletRoute,
  KubeletServer,
  type KubeletServerOptions,
  plainText,
  type UserInfo,
} from '../../src/adapters/http-server/index.js';
import { requestPolicy } from '../../src/domain/authorization/request-policy.js';
import { PortError } from '../../src/ports/port-error.js';

export const hour = 3_600_000;
const key = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = (keys: ReturnType<typeof key>) => keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** An authority with what it signs. */
export function authority(name: string) {
  const keys = key();
  const subject = { commonName: name, organizations: [] };
  const names = { dnsNames: [], ipAddresses: [] };
  const now = Date.now();
  const times = { notBeforeMillis: now - hour, notAfterMillis: now + hour };
  const certificate = issueCertificate({ ...subject, ...names, ...times, publicKey: keys.publicKey, isAuthority: true, purposes: [] }, { ...subject, privateKey: keys.privateKey });
  const sign = (user: string, organizations: string[], purpose: 'client' | 'server', validity = times): Pair => {
    const own = key();
    const contents = {
      commonName: user,
      organizations,
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
      ...validity,
      publicKey: own.publicKey,
      isAuthority: false,
      purposes: [purpose],
    };
    return { cert: issueCertificate(contents, { ...subject, privateKey: keys.privateKey }), key: pem(own) };
  };
  return { certificate, sign };
}

export const ca = authority('ca');
export const stranger = authority('stranger');
export const serving = ca.sign('node', [], 'server');

export const routes: readonly KubeletRoute[] = [
  { pattern: '/pods', methods: ['GET'], produces: 'application/json', answer: () => ({ status: 200, headers: { 'Content-Type': 'application/json' }, body: '{}' }) },
  { pattern: '/healthz', methods: null, produces: null, answer: () => plainText(200, 'ok') },
  { pattern: '/metrics', methods: null, produces: null, answer: () => Promise.reject(new Error('broken')) },
  { pattern: '/containerLogs/', methods: ['GET'], produces: null, answer: ({ elements }) => (elements.length === 4 ? plainText(200, elements.join('|')) : null) },
  { pattern: '/run/', methods: ['POST'], produces: null, answer: async (question) => plainText(200, await question.body()) },
];

export async function serve(
  t: Checks,
  options: Partial<KubeletServerOptions> & { readonly anonymous?: boolean; readonly authorizer?: Authorizer; readonly owners?: Readonly<Record<string, string>> } = {},
) {
  const { anonymous = false, authorizer = alwaysAllow, owners = {} } = options;
  const certificates = new ClientCertificates(ca.certificate, () => Date.now());
  const reviews = {
    asked: 0,
    reviewToken(token: string): Promise<UserInfo | null> {
      reviews.asked++;
      const name = owners[token];
      if (token === 'unavailable') return Promise.reject(new PortError({ kind: 'permission-denied', message: 'no', operation: 'apiWriter.create', subject: '' }));
      return Promise.resolve(name === undefined ? null : { username: name, uid: '', groups: ['people'], extra: {} });
    },
  };
  const remainingMillis: number[] = [];
  const authenticator = new Authenticator({
    ...{ certificates, tokens: { reviews, cacheMillis: 120_000 }, anonymous, nowMillis: () => Date.now() },
    onCertificate: (millis) => remainingMillis.push(millis),
  });
  const errors: string[] = [];
  const server = await KubeletServer.listen({
    address: '127.0.0.1',
    port: 0,
    policy: requestPolicy('node-1'),
    routes,
    tls: { pair: { certificatePem: serving.cert, keyPem: serving.key }, clientCertificates: certificates, minVersion: 'TLSv1.2', ciphers: [], groups: [] },
    access: { authenticator, authorizer },
    onError: (error) => errors.push(error instanceof Error ? error.message : String(error)),
    ...options,
  });
  t.teardown(() => server.close(0));
  return { server, certificates, reviews, errors, remainingMillis };
}

export type Checks = Parameters<Parameters<typeof t.test>[0]>[0];

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export function ask(port: number, path: string, options: RequestOptions = {}, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ host: '127.0.0.1', port, path, ca: ca.certificate, agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() }));
      response.once('error', reject);
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** A streaming server of a runtime: echoes after the upgrade, in capitals. */
export async function backend(t: Checks, refuse = false) {
  const seen: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const server = createHttp((_request, response) => response.writeHead(refuse ? 404 : 200).end('no such session'));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  if (!refuse)
    server.on('upgrade', (request, socket) => {
      seen.push(request);
      socket.on('error', () => socket.destroy());
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Own: kept\r\n\r\nhello ');
      socket.pipe(socket);
    });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/exec/one-time-token?x=1`), seen, sockets };
}

export function upgrade(
  port: number,
  path: string,
  options: RequestOptions = {},
): Promise<{ readonly status: number; readonly socket: Socket | null; readonly head: Buffer; readonly headers: IncomingMessage['headers']; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io', ...(options.headers as object) };
    const sent = httpsRequest({ host: '127.0.0.1', port, path, ca: ca.certificate, agent: false, method: 'POST', ...options, headers });
    sent.once('upgrade', (response, socket, head) => resolve({ status: 101, socket: socket as Socket, head, headers: response.headers, body: '' }));
    sent.once('response', (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, socket: null, head: Buffer.alloc(0), headers: response.headers, body }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

export const execTo = (target: URL): readonly KubeletRoute[] => [
  ...routes,
  { pattern: '/exec/', methods: ['GET', 'POST'], produces: null, answer: () => ({ kind: 'proxy', target }) },
];

/** Sends a text over TLS, keeps the connection, and resolves with the answer when the server has closed it. */
export function rawly(t: Checks, port: number, text: string): { readonly socket: Socket; readonly ended: Promise<string> } {
  const socket = tlsConnect({ port, host: '127.0.0.1', ca: ca.certificate, allowHalfOpen: true } as never, () => socket.write(text));
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  t.teardown(() => socket.destroy());
  return { socket, ended: new Promise((resolve) => socket.once('end', () => resolve(got)).once('close', () => resolve(got))) };
}
