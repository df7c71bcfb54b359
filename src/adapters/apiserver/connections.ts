// The connections to one apiserver. A new identity (a rotated certificate) gets new connections: watches of the old one end at once, its
// requests within a grace period, and it gets no new requests. Over TLS it is HTTP/2 where the server supports it; otherwise, and without TLS, HTTP/1.1.
//
// Invariants: a connection in setup, or silent before the first byte of an answer, costs a bounded time; a closed connection is
// an error of the requests on it, never of the process.
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Answer } from './answer.js';
import type { ClientIdentity, Credentials } from './credentials.js';
import { Http1Lane } from './http1-lane.js';
import type { ClientConfig } from './kubeconfig.js';
import type { Lane, Outgoing, Route } from './lane.js';
import { environmentProxy } from './proxy.js';
import { SecureLane } from './secure-lane.js';

export interface ConnectionOptions {
  readonly config: ClientConfig;
  readonly credentials: Credentials;
  readonly userAgent: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** How long requests on an identity that was replaced may still take. */
const drainMillis = 10_000;
/** The Go client's defaults, with the environment variables that it reads. */
const silentSeconds = { name: 'HTTP2_READ_IDLE_TIMEOUT_SECONDS', value: 30 };
const answerSeconds = { name: 'HTTP2_PING_TIMEOUT_SECONDS', value: 15 };

export class Connections {
  private readonly server: URL;
  private readonly proxy: URL | null;
  private current: { readonly connection: number; readonly lane: Lane } | null = null;
  private readonly retired = new Map<Lane, NodeJS.Timeout>();
  private isClosed = false;

  constructor(private readonly options: ConnectionOptions) {
    this.server = new URL(options.config.server);
    const proxy = options.config.proxyUrl ?? environmentProxy(this.server, options.environment);
    this.proxy = proxy === null ? null : new URL(proxy);
  }

  /** Host and port as in the server's URL, for messages. */
  get host(): string {
    return this.server.host;
  }

  /** The whole URL of a path, for messages. */
  urlOf(path: string): string {
    return `${this.options.config.server}${path}`;
  }

  /** Resolves with the head of the answer. Rejects with what broke. */
  async send(outgoing: Outgoing): Promise<Answer> {
    const identity = await this.options.credentials.current();
    if (outgoing.signal.aborted) throw outgoing.signal.reason;
    if (this.isClosed) throw new Error('the client is closed');
    return this.laneOf(identity).send(outgoing, identity);
  }

  /** The server rejected the credentials. */
  rejected(): void {
    this.options.credentials.rejected();
  }

  /** Cuts every connection, even those in use: after failed heartbeats, or when the server's end is known to be gone. */
  cutAll(): void {
    for (const lane of this.lanes()) lane.destroy();
  }

  /** Cuts everything and sends nothing more. Idempotent. */
  close(): void {
    this.isClosed = true;
    this.cutAll();
    for (const timer of this.retired.values()) clearTimeout(timer);
    this.retired.clear();
  }

  private laneOf(identity: ClientIdentity): Lane {
    // A caller with an older identity uses the newer one's connection.
    if (this.current !== null && this.current.connection >= identity.connection) return this.current.lane;
    if (this.current !== null) this.retire(this.current.lane);
    const lane = this.newLane(identity);
    this.current = { connection: identity.connection, lane };
    return lane;
  }

  private newLane(identity: ClientIdentity): Lane {
    const { config, userAgent, environment } = this.options;
    const secureContext = this.server.protocol === 'https:' ? secureContextOf(identity) : null;
    const route: Route = { server: this.server, proxy: this.proxy, userAgent, serverName: config.serverName, insecure: config.insecure, secureContext };
    if (secureContext === null || (environment.DISABLE_HTTP2 ?? '') !== '') return new Http1Lane(route);
    const millisOf = ({ name, value }: typeof silentSeconds): number => 1000 * (/^[0-9]{1,6}$/.test(environment[name] ?? '') ? Number(environment[name]) : value);
    return new SecureLane(route, { silentMillis: millisOf(silentSeconds), answerMillis: millisOf(answerSeconds) });
  }

  private retire(lane: Lane): void {
    lane.retire();
    const timer = setTimeout(() => {
      this.retired.delete(lane);
      lane.destroy();
    }, drainMillis);
    timer.unref();
    this.retired.set(lane, timer);
  }

  private lanes(): Lane[] {
    return [...(this.current === null ? [] : [this.current.lane]), ...this.retired.keys()];
  }
}

function secureContextOf({ authority, certificate, key }: ClientIdentity): SecureContext {
  return createSecureContext({
    minVersion: 'TLSv1.2',
    ...(authority === null ? {} : { ca: authority }),
    ...(certificate === null || key === null ? {} : { cert: certificate, key }),
  });
}
