// Requests over HTTP/1.1: to servers without TLS or without HTTP/2. Requests reuse connections; each watch has
// one of its own.
//
// Invariants: a connection in setup costs a bounded time; a closed connection is an error of the requests on it, never of the process.
import { type AgentOptions, type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type AgentOptions as SecureAgentOptions } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions as ConnectionOptionsOfTls, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { type Answer, answerOf } from './answer.js';
import { isBrokenConnection } from './connection-errors.js';
import type { ClientIdentity } from './credentials.js';
import { asError, connectMillis, hostOf, keepAliveProbeMillis, type Lane, type Outgoing, pathOf, type Route, StaleConnection } from './lane.js';
import { openTunnel } from './proxy.js';

/** Requests of one identity side by side; further ones wait for a connection. */
const connectionsMax = 32;
/** The Go client's limit. */
const idleConnectionsMax = 25;
/** An apiserver closes idle connections after 90 s; a request must not meet one that it is just closing. */
const idleMillis = 60_000;

export class Http1Lane implements Lane {
  private readonly requests: HttpAgent;
  private readonly watches: HttpAgent;

  /** @param made an established connection for the first request */
  constructor(
    private readonly route: Route,
    made: Socket | null = null,
  ) {
    this.requests = this.agent(false);
    this.watches = this.agent(true);
    if (made !== null) lend([this.requests, this.watches], made);
  }

  send(outgoing: Outgoing, identity: ClientIdentity): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = this.request(outgoing, identity);
      const abort = (): void => void request.destroy(asError(outgoing.signal.reason));
      outgoing.signal.addEventListener('abort', abort, { once: true });
      request.once('close', () => outgoing.signal.removeEventListener('abort', abort));
      request.once('response', (message) => resolve(answerOf(message)));
      request.on('error', (error) => reject(request.reusedSocket && isBrokenConnection(error) ? new StaleConnection(error) : error));
      request.end(outgoing.body ?? undefined);
    });
  }

  retire(): void {
    this.watches.destroy();
    this.requests.maxFreeSockets = 0;
    for (const sockets of Object.values(this.requests.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  destroy(): void {
    this.watches.destroy();
    this.requests.destroy();
  }

  private request({ method, path, headers, isWatch }: Outgoing, { authorization }: ClientIdentity): ClientRequest {
    const { server, userAgent } = this.route;
    const send = server.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send({
      host: hostOf(this.route),
      port: server.port === '' ? undefined : server.port,
      method,
      path: pathOf(this.route, path),
      agent: isWatch ? this.watches : this.requests,
      headers: { 'User-Agent': userAgent, ...(authorization === null ? {} : { Authorization: authorization }), ...headers },
    });
    request.once('socket', (socket) => boundConnecting(request, socket as TLSSocket, server.host));
    return request;
  }

  private agent(isWatch: boolean): HttpAgent {
    const { proxy, secureContext } = this.route;
    const common = {
      keepAlive: !isWatch,
      keepAliveMsecs: keepAliveProbeMillis,
      maxFreeSockets: idleConnectionsMax,
      ...(isWatch ? {} : { maxSockets: connectionsMax, timeout: idleMillis }),
    };
    if (secureContext === null) return proxy === null ? new HttpAgent(common) : new TunnelAgent(common, proxy);
    const options = { ...common, ...tlsOptions(this.route), ALPNProtocols: ['http/1.1'] };
    return proxy === null ? new HttpsAgent(options) : new SecureTunnelAgent(options, proxy);
  }
}

/** The first connection that any of the agents needs is the established one. */
function lend(agents: readonly HttpAgent[], made: Socket): void {
  let isLent = false;
  for (const agent of agents) {
    const connect = agent.createConnection;
    agent.createConnection = function lent(this: HttpAgent, ...wanted: Parameters<typeof connect>) {
      if (isLent || made.destroyed) return connect.apply(this, wanted);
      isLent = true;
      return made;
    };
  }
}

/** TLS options of a connection, for both protocols. */
export function tlsOptions(route: Route) {
  const host = hostOf(route);
  // An IP address is no server name, but the certificate is verified against it.
  const servername = route.serverName ?? (isIP(host) === 0 ? host : '');
  return { servername, rejectUnauthorized: !route.insecure, ...(route.secureContext === null ? {} : { secureContext: route.secureContext }) };
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
