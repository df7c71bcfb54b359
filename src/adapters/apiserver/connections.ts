// The connections to one apiserver: kept alive for requests, one of its own for each watch. Another identity (a rotated certificate) gets
// connections of its own: watches of the old one end at once, its requests within a grace, and nothing new is sent on it.
//
// Invariants: a connection that is being made, or that is silent before the first byte of an answer, costs a bounded time; what is closed is
// an error of the requests on it, never of the process.
import { type AgentOptions, type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type AgentOptions as SecureAgentOptions } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions as ConnectionOptionsOfTls, createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { isBrokenConnection } from './connection-errors.js';
import type { ClientIdentity, Credentials } from './credentials.js';
import type { ClientConfig } from './kubeconfig.js';
import { environmentProxy, openTunnel } from './proxy.js';

export interface Outgoing {
  readonly method: string;
  /** With its query, below the server's own path. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly isWatch: boolean;
  readonly signal: AbortSignal;
}

export interface ConnectionOptions {
  readonly config: ClientConfig;
  readonly credentials: Credentials;
  readonly userAgent: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A connection that was kept broke before it answered: most likely the server was just closing it. The cause is what it broke with. */
export class StaleConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** Requests of one identity side by side; further ones wait for a connection. */
const connectionsMax = 32;
/** As the reference keeps them. */
const idleConnectionsMax = 25;
/** An apiserver closes idle connections after 90 s; a request must not meet one that it is just closing. */
const idleMillis = 60_000;
const keepAliveProbeMillis = 30_000;
/** From the first packet to the end of the handshake: 30 s to dial, 10 s to shake hands. */
const connectMillis = 40_000;
/** How long requests on an identity that was replaced may still take. */
const drainMillis = 10_000;

/** What is sent as one identity. */
interface Lane {
  readonly connection: number;
  readonly requests: HttpAgent;
  readonly watches: HttpAgent;
}

export class Connections {
  private readonly server: URL;
  private readonly proxy: URL | null;
  private lane: Lane | null = null;
  private readonly retired = new Map<Lane, NodeJS.Timeout>();
  private isClosed = false;

  constructor(private readonly options: ConnectionOptions) {
    this.server = new URL(options.config.server);
    const proxy = options.config.proxyUrl ?? environmentProxy(this.server, options.environment);
    this.proxy = proxy === null ? null : new URL(proxy);
  }

  /** Host and port as they are in the server's URL, for messages. */
  get host(): string {
    return this.server.host;
  }

  /** The whole URL of a path, for messages. */
  urlOf(path: string): string {
    return `${this.options.config.server}${path}`;
  }

  /** Resolves with the head of the answer. Rejects with what broke. */
  async send(outgoing: Outgoing): Promise<IncomingMessage> {
    const identity = await this.options.credentials.current();
    if (outgoing.signal.aborted) throw outgoing.signal.reason;
    if (this.isClosed) throw new Error('the client is closed');
    const lane = this.laneOf(identity);
    return new Promise((resolve, reject) => {
      const request = this.request(outgoing, lane, identity);
      const abort = (): void => void request.destroy(asError(outgoing.signal.reason));
      outgoing.signal.addEventListener('abort', abort, { once: true });
      request.once('close', () => outgoing.signal.removeEventListener('abort', abort));
      request.once('response', resolve);
      request.on('error', (error) => reject(request.reusedSocket && isBrokenConnection(error) ? new StaleConnection(error) : error));
      request.end(outgoing.body ?? undefined);
    });
  }

  /** The server didn't accept who we are. */
  rejected(): void {
    this.options.credentials.rejected();
  }

  /** Cuts every connection, also those in use: after heartbeats failed, or when nothing else tells that the server's end is gone. */
  cutAll(): void {
    for (const agent of this.agents()) agent.destroy();
  }

  /** Cuts everything and sends nothing more. Idempotent. */
  close(): void {
    this.isClosed = true;
    this.cutAll();
    for (const timer of this.retired.values()) clearTimeout(timer);
    this.retired.clear();
  }

  private request({ method, path, headers, isWatch }: Outgoing, lane: Lane, identity: ClientIdentity): ClientRequest {
    const send = this.server.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send({
      host: this.server.hostname.replace(/^\[|\]$/g, ''),
      port: this.server.port === '' ? undefined : this.server.port,
      method,
      path: (this.server.pathname === '/' ? '' : this.server.pathname) + path,
      agent: isWatch ? lane.watches : lane.requests,
      headers: { 'User-Agent': this.options.userAgent, ...(identity.authorization === null ? {} : { Authorization: identity.authorization }), ...headers },
    });
    request.once('socket', (socket) => boundConnecting(request, socket as TLSSocket, this.server.host));
    return request;
  }

  private laneOf(identity: ClientIdentity): Lane {
    // Whoever learnt of an identity before another one came goes on with the newer.
    if (this.lane !== null && this.lane.connection >= identity.connection) return this.lane;
    if (this.lane !== null) this.retire(this.lane);
    const make = (isWatch: boolean): HttpAgent => {
      const common = {
        keepAlive: !isWatch,
        keepAliveMsecs: keepAliveProbeMillis,
        maxFreeSockets: idleConnectionsMax,
        ...(isWatch ? {} : { maxSockets: connectionsMax, timeout: idleMillis }),
      };
      return this.server.protocol === 'https:'
        ? this.secureAgent(common, context as SecureContext)
        : this.proxy === null
          ? new HttpAgent(common)
          : new TunnelAgent(common, this.proxy);
    };
    const context = this.server.protocol === 'https:' ? secureContextOf(identity) : null;
    this.lane = { connection: identity.connection, requests: make(false), watches: make(true) };
    return this.lane;
  }

  private secureAgent(common: AgentOptions, secureContext: SecureContext): HttpsAgent {
    const { serverName, insecure } = this.options.config;
    const host = this.server.hostname.replace(/^\[|\]$/g, '');
    // An IP address is no server name, but is what the certificate is checked against.
    const servername = serverName ?? (isIP(host) === 0 ? host : '');
    const options = { ...common, secureContext, servername, rejectUnauthorized: !insecure, ALPNProtocols: ['http/1.1'] };
    return this.proxy === null ? new HttpsAgent(options) : new SecureTunnelAgent(options, this.proxy);
  }

  private retire(lane: Lane): void {
    lane.watches.destroy();
    lane.requests.maxFreeSockets = 0;
    for (const sockets of Object.values(lane.requests.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    const timer = setTimeout(() => {
      this.retired.delete(lane);
      lane.requests.destroy();
    }, drainMillis);
    timer.unref();
    this.retired.set(lane, timer);
  }

  private agents(): HttpAgent[] {
    return [...(this.lane === null ? [] : [this.lane]), ...this.retired.keys()].flatMap(({ requests, watches }) => [requests, watches]);
  }
}

function secureContextOf({ authority, certificate, key }: ClientIdentity): SecureContext {
  return createSecureContext({
    minVersion: 'TLSv1.2',
    ...(authority === null ? {} : { ca: authority }),
    ...(certificate === null || key === null ? {} : { cert: certificate, key }),
  });
}

function boundConnecting(request: ClientRequest, socket: TLSSocket, host: string): void {
  socket.setKeepAlive(true, keepAliveProbeMillis);
  socket.setNoDelay(true);
  const isSecure = 'encrypted' in socket;
  // One that was used before, or that came out of a tunnel, is connected already.
  if (request.reusedSocket || !(socket.connecting || (isSecure && (socket as { readonly secureConnecting?: boolean }).secureConnecting !== false))) return;
  const timer = setTimeout(() => request.destroy(new Error(socket.connecting ? `dial tcp ${host}: i/o timeout` : 'net/http: TLS handshake timeout')), connectMillis);
  const done = (): void => clearTimeout(timer);
  socket.once(isSecure ? 'secureConnect' : 'connect', done);
  socket.once('close', done);
  request.once('close', done);
}

type Callback = (error: Error | null, socket: Socket) => void;
interface Target {
  readonly host?: string | null | undefined;
  readonly port?: number | string | null | undefined;
}

function tunnelled(proxy: URL, { host, port }: Target, callback: Callback | undefined, wrap: (socket: Socket) => Socket): undefined {
  const failed = (error: Error): void => (callback as ((error: Error) => void) | undefined)?.(error);
  openTunnel(proxy, host ?? '', Number(port), connectMillis).then((socket) => callback?.(null, wrap(socket)), failed);
}

/** To an http server through a tunnel, too: an apiserver's requests are nothing that a proxy should change. */
class TunnelAgent extends HttpAgent {
  constructor(
    options: AgentOptions,
    private readonly proxy: URL,
  ) {
    super(options);
  }

  override createConnection(target: Target, callback?: Callback): undefined {
    tunnelled(this.proxy, target, callback, (socket) => socket);
  }
}

class SecureTunnelAgent extends HttpsAgent {
  constructor(
    options: SecureAgentOptions,
    private readonly proxy: URL,
  ) {
    super(options);
  }

  override createConnection(target: Target, callback?: Callback): undefined {
    tunnelled(this.proxy, target, callback, (socket) => tlsConnect({ ...(target as ConnectionOptionsOfTls), socket }));
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
