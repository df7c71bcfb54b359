// A peer for apiserver clients: its own authority, an HTTPS server on loopback with the test's answers, and kubeconfigs for it.

import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClientOptions, type ApiClients, loadKubeconfig, openApiClients } from '../../src/adapters/apiserver/index.js';
import { issueCertificate } from '../../src/adapters/certificates/index.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Call } from '../../src/ports/operation.js';
import type { ApiWatchEvents } from '../../src/ports/outbound/apiserver.js';

/** Whether peers speak HTTP/2 over TLS. */
export function speaksHttp2(): boolean {
  return isNewest;
}

export interface Teardown {
  readonly teardown: (run: () => unknown) => unknown;
}

export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

const day = 86_400_000;

let isNewest = true;

/** From now on peers speak HTTP/1.1 only. Else HTTP/2 too, over TLS. */
export function onlyHttp1(): void {
  isNewest = false;
}

/** Signs certificates for tests. */
export class TestAuthority {
  private readonly subject;
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly certificate: string;

  constructor(commonName = 'test-ca') {
    this.subject = { commonName, organizations: [] };
    const issuer = { ...this.subject, privateKey: this.keys.privateKey };
    const now = Date.now();
    const names = { dnsNames: [], ipAddresses: [], purposes: [] };
    this.certificate = issueCertificate(
      { ...this.subject, ...names, publicKey: this.keys.publicKey, notBeforeMillis: now - day, notAfterMillis: now + 10 * day, isAuthority: true },
      issuer,
    );
  }

  /** @param from days from now at which it begins to be valid @param to and ends */
  client(commonName = 'system:node:n1', from = -1, to = 1): Pair {
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const certificate = this.sign(keys.publicKey, { commonName, organizations: ['system:nodes'] }, from, to);
    return { certificate, key: keys.privateKey.export({ type: 'sec1', format: 'pem' }) as string };
  }

  sign(publicKey: KeyObject, subject: { readonly commonName: string; readonly organizations: readonly string[] }, from = -1, to = 1, isServer = false): string {
    const now = Date.now();
    const names = isServer ? { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] } : { dnsNames: [], ipAddresses: [] };
    const validity = { notBeforeMillis: now + from * day, notAfterMillis: now + to * day };
    const contents = { ...subject, ...names, ...validity, publicKey, isAuthority: false, purposes: [isServer ? 'server' : 'client'] as const };
    return issueCertificate(contents, { ...this.subject, privateKey: this.keys.privateKey });
  }

  server(from = -1, to = 1): Pair {
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const certificate = this.sign(keys.publicKey, { commonName: 'apiserver', organizations: [] }, from, to, true);
    return { certificate, key: keys.privateKey.export({ type: 'sec1', format: 'pem' }) as string };
  }
}

export type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

export class ApiPeer {
  readonly directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  readonly sockets = new Set<Socket>();
  /** Also those whose handshake failed. */
  private readonly raw = new Set<Socket>();
  /** Requests whose answer hasn't ended. */
  open = 0;
  /** Connections that were ever made. */
  connections = 0;
  readonly requests: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers']; readonly body: string; readonly commonName: string | null }[] =
    [];

  private constructor(
    readonly server: Server,
    readonly scheme: 'http' | 'https',
    readonly authority: TestAuthority,
  ) {}

  /** @param options.tls null: plain HTTP. @param options.needsCertificate whether clients have to show a certificate @param options.streamsMax of a connection of HTTP/2 */
  static async open(
    t: Teardown,
    handle: Handler,
    options: { readonly tls?: Pair | null; readonly needsCertificate?: boolean; readonly streamsMax?: number } = {},
  ): Promise<ApiPeer> {
    const authority = new TestAuthority();
    const tls = options.tls === undefined ? authority.server() : options.tls;
    const secure =
      tls === null ? null : { cert: tls.certificate, key: tls.key, ca: authority.certificate, requestCert: true, rejectUnauthorized: options.needsCertificate === true };
    const server =
      secure === null
        ? createHttpServer()
        : isNewest
          ? createSecureServer({ ...secure, allowHTTP1: true, settings: { maxConcurrentStreams: options.streamsMax ?? 250 } })
          : createHttpsServer(secure);
    const peer = new ApiPeer(server as unknown as Server, tls === null ? 'http' : 'https', authority);
    peer.listen(handle, tls !== null);
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    t.teardown(() => peer.close());
    return peer;
  }

  private listen(handle: Handler, isSecure: boolean): void {
    this.server.keepAliveTimeout = 60_000;
    this.server.on('connection', (socket: Socket) => {
      this.raw.add(socket);
      socket.once('close', () => this.raw.delete(socket));
    });
    this.server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => this.sockets.delete(socket));
    });
    this.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.open++;
      response.once('close', () => this.open--);
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        const subject = (request.socket as { getPeerCertificate?: () => { subject?: { CN?: string } } }).getPeerCertificate?.().subject;
        this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body, commonName: subject?.CN ?? null });
        handle(request, response, body);
      });
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.scheme}://127.0.0.1:${this.port}`;
  }

  breakConnections(): void {
    for (const socket of [...this.sockets, ...this.raw]) socket.destroy();
  }

  close(): void {
    this.breakConnections();
    this.server.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  write(name: string, text: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, text);
    return path;
  }

  /** A kubeconfig for this peer. @param user members of the user @param cluster members of the cluster on top of server and authority */
  kubeconfig(user: object = {}, cluster: object = {}, name = 'kubeconfig'): string {
    const trust = this.scheme === 'https' && !('certificate-authority' in cluster) ? { 'certificate-authority-data': base64(this.authority.certificate) } : {};
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: this.url, ...trust, ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    return this.write(name, JSON.stringify(config));
  }

  /** Clients by a kubeconfig of this peer. */
  clients(t: Teardown, path: string, more: Partial<ApiClientOptions> = {}): TestClients {
    const delivered: ApiWatchEvents[] = [];
    const problems: string[] = [];
    const clients = openApiClients({
      config: loadKubeconfig(path),
      userAgent: 'kubelet/v1.36.2 (test)',
      main: { perSecond: -1, burst: 0 },
      events: { perSecond: 50, burst: 100 },
      heartbeatTimeoutMicros: 10_000_000,
      environment: {},
      now: () => Date.now() * 1000,
      wall: () => instantOf(Date.now() * 1000),
      deliver: (events) => delivered.push(events),
      problem: (text) => problems.push(text),
      ...more,
    });
    t.teardown(() => clients.close());
    return { ...clients, delivered, problems };
  }
}

export interface TestClients extends ApiClients {
  readonly delivered: ApiWatchEvents[];
  readonly problems: string[];
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

export function answer(response: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(code, { 'Content-Type': 'application/json', ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Repeats the block until the reader is gone. */
export function endlessly(response: ServerResponse, block: Buffer): void {
  let isOpen = true;
  response.once('close', () => {
    isOpen = false;
  });
  const more = (error?: Error | null): void => {
    if (isOpen && !error) response.write(block, more);
  };
  more();
}

/** A call without limits, or with a deadline. */
export function calling(timeoutMicros: number | null = 10_000_000, signal: AbortSignal = new AbortController().signal): Call {
  return { signal, timeoutMicros };
}

/** What an operation failed with, as data; anything but a PortError fails the test. */

export const pods = { group: '', version: 'v1', plural: 'pods' } as const;
export const leases = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' } as const;
export const nodes = { group: '', version: 'v1', plural: 'nodes' } as const;
