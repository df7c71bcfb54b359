// The simulated apiserver behind HTTPS, and optionally HTTP, in real time: for kubectl, agents and tests.
//
// Invariants: it listens on loopback by default; after `stop` no timer, no socket and no connection is left; while it is down it
// keeps its objects, and comes back at the same addresses with the same certificates.
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { type ApiserverSettings, type ApiUser, SimApiserver } from '../../sim/index.js';
import { RealTime } from '../time/index.js';
import { Authority, type ClientIdentity } from './authority.js';
import { mockVersion, versionDocument } from './documents.js';
import { HttpApi } from './http-api.js';
import { type KubeconfigUser, kubeconfigText } from './kubeconfig-text.js';
import { KubeletStreams } from './kubelet-streams.js';
import { ResourceMetrics } from './resource-metrics.js';

export interface MockApiserverOptions {
  /** `host:port` of HTTPS; port 0: any free one. Default 127.0.0.1:0. */
  readonly bind?: string;
  /** `host:port` of plain HTTP, where a request without a token comes from the administrator; none by default. */
  readonly httpBind?: string;
  /** Whether a request without credentials is anonymous; otherwise it is refused. */
  readonly anonymous?: boolean;
  /** Its reported version (`/version`), as `v1.36.2`; its behaviour doesn't change. */
  readonly version?: string;
  /** The server's seconds per second; default 1. */
  readonly speed?: number;
  /** Bearer tokens, and whose they are. */
  readonly tokens?: ReadonlyMap<string, ApiUser>;
  /** The address of every kubelet; default: the address in its Node. */
  readonly kubeletHost?: string;
  readonly settings?: Partial<Omit<ApiserverSettings, 'rootCa' | 'tokens'>>;
}

const defaultBind = '127.0.0.1:0';
const usualPort = 6443;

interface Address {
  readonly host: string;
  readonly port: number;
}

interface Listener {
  readonly server: HttpServer;
  address: Address;
}

export class MockApiserver {
  readonly api: SimApiserver;
  readonly time: RealTime;
  private readonly authority: Authority;
  private readonly sockets = new Set<Socket>();
  private readonly secure: Listener;
  private readonly plain: Listener | null;
  private withdrawWake: () => void = () => {};

  constructor(options: MockApiserverOptions = {}) {
    this.time = new RealTime(options.speed ?? 1);
    this.authority = new Authority((options.settings?.clockOffsetMicros ?? 0) / 1000);
    // The service leads pods here, and where the port is still to be found it has the usual one.
    const ownServicePort = readAddress(options.bind ?? defaultBind).port || usualPort;
    const settings = { ownServicePort, ...options.settings, rootCa: this.authority.certificate, tokens: options.tokens ?? new Map<string, ApiUser>() };
    this.api = new SimApiserver(settings, this.time.now(), undefined, this.authority);
    this.api.dueSooner = () => this.schedule();
    const pair = this.authority.client({ commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] });
    const reach = { pair, host: options.kubeletHost ?? null };
    const kubelets = new KubeletStreams(this.api, reach, () => this.time.now());
    const metrics = new ResourceMetrics(this.api, reach, () => this.time.now());
    const http = new HttpApi(
      this.api,
      this.time,
      { anonymous: options.anonymous ?? true, openWithoutTls: true, authority: this.authority, version: versionDocument(options.version ?? mockVersion) },
      kubelets,
      metrics,
    );
    const serve = (...exchange: Parameters<HttpApi['serve']>): void => void http.serve(...exchange);
    const address = readAddress(options.bind ?? defaultBind);
    const { key, certificate: cert } = this.authority.serving([address.host]);
    const tls = { key, cert, ca: this.authority.certificate, requestCert: true, rejectUnauthorized: false };
    this.secure = { server: createSecureServer({ ...tls, allowHTTP1: true }, serve as never) as unknown as HttpServer, address };
    this.plain = options.httpBind === undefined ? null : { server: createHttpServer(serve), address: readAddress(options.httpBind) };
    for (const { server } of this.listeners()) {
      this.watchSockets(server);
      server.on('upgrade', (request, socket, head) => void http.upgrade(request, socket as Socket, head));
    }
  }

  /** Rejects when an address can't be listened on. */
  async start(): Promise<void> {
    for (const listener of this.listeners()) await listen(listener);
    this.schedule();
  }

  /** `https://127.0.0.1:6443`. */
  get url(): string {
    return urlOf('https', this.secure.address);
  }

  /** null: no plain HTTP. */
  get httpUrl(): string | null {
    return this.plain === null ? null : urlOf('http', this.plain.address);
  }

  /** PEM: what clients know the server by. */
  get caCertificate(): string {
    return this.authority.certificate;
  }

  /** A kubeconfig of the administrator, or of another user. */
  kubeconfig(user: ClientIdentity | KubeconfigUser = { commonName: 'kubernetes-admin', organizations: ['system:masters'] }): string {
    const known: KubeconfigUser = 'kind' in user ? user : { kind: 'certificate', pair: this.authority.client(user) };
    return kubeconfigText(this.url, this.authority.certificate, known);
  }

  /** Breaks connections and listens no more, until `comeBack`. Stored objects stay. */
  async goDown(): Promise<void> {
    this.api.watches.cut(() => true);
    const closed = this.listeners().map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const socket of this.sockets) socket.destroy();
    await Promise.all(closed);
  }

  async comeBack(): Promise<void> {
    for (const listener of this.listeners()) await listen(listener);
  }

  /** Breaks every connection; new ones are accepted. */
  breakConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.withdrawWake();
    this.api.dueSooner = () => {};
    this.time.stop();
    await this.goDown();
  }

  private listeners(): Listener[] {
    return this.plain === null ? [this.secure] : [this.secure, this.plain];
  }

  private watchSockets(server: HttpServer): void {
    // Watches are long, and nothing moves in them while nothing happens.
    server.requestTimeout = 0;
    server.keepAliveTimeout = 90_000;
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.once('close', () => this.sockets.delete(socket));
    });
    // An aborted handshake is the client's error.
    server.on('clientError', (_error, socket) => socket.destroy());
  }

  private schedule(): void {
    this.withdrawWake();
    const next = this.api.nextAt();
    if (next === null) return;
    // Not within the request that made it due.
    this.withdrawWake = this.time.after(Math.max(1, next - this.time.now()), () => {
      this.api.advance(this.time.now());
      this.schedule();
    });
  }
}

/** Starts a server; the caller stops it. */
export async function startMockApiserver(options: MockApiserverOptions = {}): Promise<MockApiserver> {
  const server = new MockApiserver(options);
  await server.start();
  return server;
}

function readAddress(text: string): Address {
  const match = /^(?:\[([0-9a-f:]+)\]|([^:]+)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) throw new Error(`mock apiserver: ${JSON.stringify(text)} is no address; expected host:port, as 127.0.0.1:6443`);
  return { host: match[1] ?? match[2] ?? '', port };
}

function urlOf(scheme: string, { host, port }: Address): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function listen(listener: Listener): Promise<void> {
  const { server, address } = listener;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // The port that was found is the one to come back to.
  listener.address = { host: address.host, port: (server.address() as AddressInfo).port };
}
