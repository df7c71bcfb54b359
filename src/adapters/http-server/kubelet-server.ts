// The kubelet's port (spec/config-and-api.md, 9-12): HTTPS with authentication and authorization, or plain HTTP for the read-only port.
//
// | order | check                                            | answer                          |
// |-------|--------------------------------------------------|---------------------------------|
// | 1     | no pattern, or a path that isn't clean           | 404, redirect; without authentication |
// | 2     | authentication, authorization                    | 401, 403, 500                   |
// | 3     | method, accepted types                           | 405, 406                        |
// | 4     | the route                                        | an answer, a stream, a proxy    |
//
// Invariants: slow, silent, verbose or numerous clients cost a bounded amount of memory and time; a handler that throws is an
// answer of 500, never the end of the agent; certificates are replaced without dropping a connection.
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { decodePath, splitTarget } from '../../domain/values/request-target.js';
import type { RequestPolicy } from '../../ports/inbound/request-policy.js';
import { PortError } from '../../ports/port-error.js';
import { accepts } from './accepts.js';
import type { ClientCertificate } from './access/client-certificates.js';
import { handOver } from './hand-over.js';
import { HeadBudget } from './head-budget.js';
import { type HttpAnswer, methodNotAllowed, notAcceptable, notFound, plainText, redirect, strictText } from './http-answer.js';
import { endWhenIdle } from './idle-stream.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from './kubelet-routes.js';
import { answerPlainHttp } from './plain-http.js';
import { questionOf } from './question.js';
import { type AccessRules, refusalOf } from './request-access.js';
import type { RequestTrace, TracedRequest } from './request-trace.js';
import { RequestTurns } from './request-turns.js';
import { contextOf, type ServerTls } from './tls-context.js';
import { defaultProxyLimits, type ProxyLimits } from './upgrade-proxy.js';
import { writeAnswer } from './write-answer.js';

export interface KubeletServerOptions {
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
  readonly policy: RequestPolicy;
  readonly routes: readonly KubeletRoute[];
  /** null: plain HTTP. */
  readonly tls: ServerTls | null;
  /** null: every client may do everything, as on the read-only port. */
  readonly access: AccessRules | null;
  readonly limits?: Partial<ServerLimits>;
  readonly proxyLimits?: Partial<ProxyLimits>;
  /** The idle limit of an upgraded connection; unlimited if absent or 0. */
  readonly streamIdleMillis?: number;
  /** Once for each that was cut for that. */
  readonly onIdleStream?: (path: string) => void;
  readonly onError: (error: unknown, pattern: string) => void;
  readonly onBegun?: (begun: BegunRequest) => void;
  /** Called once for each request that began. */
  readonly onServed?: (served: ServedRequest) => void;
  /** Called for each admitted request. */
  readonly trace?: (request: TracedRequest) => RequestTrace;
}

export interface BegunRequest {
  readonly method: string;
  readonly path: string;
}

export interface ServedRequest extends BegunRequest {
  /** The protocol of a requested upgrade. */
  readonly upgrade: string | null;
  readonly status: number;
  readonly startedMillis: number;
  readonly endedMillis: number;
}

export interface ServerLimits {
  readonly headerBytesMax: number;
  /** Incomplete heads of all connections together. */
  readonly headerBytesInAllMax: number;
  readonly bodyBytesMax: number;
  readonly connectionsMax: number;
  readonly headersMillis: number;
  /** For a whole request, and without any traffic. */
  readonly requestMillis: number;
  readonly keepAliveMillis: number;
  /** For a complete answer: without any of it being read. */
  readonly unreadMillis: number;
  /** After the answer, for a client that still sends or does not close. */
  readonly lingerMillis: number;
}

/** For streams to end, when the server is closed. */
const cutMillis = 200;
const hour = 3_600_000;
const defaultServerLimits: ServerLimits = {
  headerBytesMax: 1024 * 1024,
  headerBytesInAllMax: 64 * 1024 * 1024,
  bodyBytesMax: 1024 * 1024,
  connectionsMax: 8192,
  headersMillis: 60_000,
  requestMillis: 4 * hour,
  keepAliveMillis: 90_000,
  unreadMillis: 60_000,
  lingerMillis: 5_000,
};

export class KubeletServer {
  private readonly routes: ReadonlyMap<string, KubeletRoute>;
  private readonly shown = new WeakMap<Duplex, ClientCertificate | null>();
  private readonly upgraded = new Set<Socket>();
  /** Ends the work for requests in progress. */
  private readonly underWay = new Set<() => void>();
  private readonly traces = new WeakMap<IncomingMessage, RequestTrace>();
  private readonly heads: HeadBudget;
  private readonly turns = new RequestTurns((socket) => this.heads.begin(socket));
  private readonly server: Server;
  private readonly limits: ServerLimits;
  private authorities: string;

  private constructor(private readonly options: KubeletServerOptions) {
    this.routes = new Map(options.routes.map((route) => [route.pattern, route]));
    this.limits = { ...defaultServerLimits, ...options.limits };
    this.authorities = options.tls?.clientCertificates?.authorities ?? '';
    const { limits } = this;
    this.heads = new HeadBudget(limits.headerBytesInAllMax, limits.headerBytesMax);
    const common = {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersMillis,
      requestTimeout: limits.requestMillis,
      keepAliveTimeout: limits.keepAliveMillis,
      // TCP keep-alive: detects a vanished client.
      keepAlive: true,
      keepAliveInitialDelay: 15_000,
      connectionsCheckingInterval: Math.max(10, Math.min(limits.headersMillis / 2, 10_000)),
    };
    this.server = options.tls === null ? createServer(common) : createTlsServer({ ...common, handshakeTimeout: limits.headersMillis, ...contextOf(options.tls) });
    if (options.tls !== null) answerPlainHttp(this.server as TlsServer);
    this.server.maxConnections = limits.connectionsMax;
    this.server.setTimeout(limits.requestMillis);
    this.server.on('request', (request, response) => {
      this.heads.end(request.socket);
      this.serve(request, response).catch((error: unknown) => this.broken(error, request));
    });
    this.server.on('upgrade', (request, socket, head) => {
      this.heads.end(request.socket);
      // A client that has not waited for the answers before would find them amidst the other protocol's bytes.
      if (this.turns.unansweredOn(socket) > 0) socket.destroy();
      else this.upgrade(request, socket as Socket, head).catch((error: unknown) => this.broken(error, request));
    });
    if (options.tls !== null) this.server.on('secureConnection', (socket: TLSSocket) => this.remember(socket));
    this.server.on(options.tls === null ? 'connection' : 'secureConnection', (socket: Socket) => this.heads.begin(socket));
  }

  /** Errors: already-exists (the port is taken), permission-denied, unavailable (no such address). */
  static async listen(options: KubeletServerOptions): Promise<KubeletServer> {
    const kubelet = new KubeletServer(options);
    const { address, port } = options;
    await new Promise<void>((resolve, reject) => {
      kubelet.server.once('error', (error: NodeJS.ErrnoException) => {
        const kind = error.code === 'EADDRINUSE' ? 'already-exists' : error.code === 'EACCES' ? 'permission-denied' : 'unavailable';
        reject(new PortError({ kind, message: error.message, operation: 'httpServer.listen', subject: `${address}:${port}` }));
      });
      kubelet.server.listen({ host: address, port }, resolve);
    });
    kubelet.server.on('error', (error) => options.onError(error, ''));
    return kubelet;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connections that are open, upgraded ones included. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) => this.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))));
  }

  /** From the next connection on. Closes idle connections if the authorities have changed, since a client's next request would fail. */
  replaceTls(tls: ServerTls): void {
    (this.server as TlsServer).setSecureContext(contextOf(tls));
    const authorities = tls.clientCertificates?.authorities ?? '';
    if (authorities !== this.authorities) this.server.closeIdleConnections();
    this.authorities = authorities;
  }

  /** Accepts no more connections and lets requests end; after the grace period streams are ended in order, and soon after that the rest is cut. Idempotent. */
  async close(graceMillis: number): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.server.closeIdleConnections();
    const end = setTimeout(() => {
      for (const cancel of this.underWay) cancel();
      for (const socket of this.upgraded) socket.end();
    }, graceMillis);
    const cut = setTimeout(() => {
      this.server.closeAllConnections();
      for (const socket of this.upgraded) socket.destroy();
    }, graceMillis + cutMillis);
    await closed;
    clearTimeout(end);
    clearTimeout(cut);
  }

  private remember(socket: TLSSocket): void {
    this.shown.set(socket, this.options.tls?.clientCertificates?.shownBy(socket) ?? null);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!(await this.turns.turnOf(request, response))) return;
    const { question, cancel } = questionOf(request, response, this.limits.bodyBytesMax);
    const startedMillis = this.begun(request);
    this.underWay.add(cancel);
    try {
      const answer = await this.answer(request, question);
      const shown = 'target' in answer ? strictText(500, 'Upgrade request required\n') : answer;
      // The time without progress, not that of the whole answer.
      if ('chunks' in answer && answer.isBounded === true) request.socket.setTimeout(this.limits.unreadMillis);
      await this.within(request, () => writeAnswer(response, request.method ?? '', shown, (error) => this.failed(error, request)));
      // A client that doesn't read keeps the answer in memory; clients of a stream may read slowly.
      if (!('chunks' in answer) && !response.writableFinished) request.socket.setTimeout(this.limits.unreadMillis);
      // A client that still sends the body of an answered request gets a moment to finish.
      if (!request.complete) this.endSoon(request.socket, request);
    } catch (error) {
      this.failed(error, request);
      if (response.headersSent) response.destroy();
      else await writeAnswer(response, request.method ?? '', strictText(500, 'internal server error\n'), () => {});
    } finally {
      this.underWay.delete(cancel);
      cancel();
      this.served(request, response.statusCode, startedMillis);
    }
  }

  /** A request that wants another protocol; only streams go along with that. */
  private async upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const response = new ServerResponse(request);
    const { question, cancel } = questionOf(request, response, 0);
    const startedMillis = this.begun(request);
    this.upgraded.add(socket);
    socket.once('close', () => {
      this.upgraded.delete(socket);
      cancel();
    });
    socket.on('error', () => socket.destroy());
    let answer: KubeletAnswer;
    try {
      answer = await this.answer(request, question);
    } catch (error) {
      this.failed(error, request);
      answer = strictText(500, 'internal server error\n');
    }
    if ('target' in answer) {
      endWhenIdle(socket, this.options.streamIdleMillis ?? 0, () => this.options.onIdleStream?.(splitTarget(request.url ?? '').path));
      await handOver(request, socket, head, answer, { ...defaultProxyLimits, ...this.options.proxyLimits });
      this.served(request, 101, startedMillis);
      return;
    }
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    // Ignores further bytes, but waits for the end.
    socket.resume();
    response.once('finish', () => {
      socket.end();
      this.endSoon(socket, socket);
    });
    const shown = answer;
    await this.within(request, () => writeAnswer(response, request.method ?? '', shown, (error) => this.failed(error, request)));
    this.served(request, response.statusCode, startedMillis);
  }

  private async answer(request: IncomingMessage, question: Omit<KubeletQuestion, 'path' | 'elements' | 'query'>): Promise<KubeletAnswer> {
    const { method } = question;
    const target = splitTarget(request.url ?? '');
    if (!target.path.startsWith('/')) return plainText(400, '400 Bad Request', { Connection: 'close' });
    // A proxy in between might use the other one.
    if ((request.headersDistinct.host?.length ?? 0) > 1) return plainText(400, '400 Bad Request: too many Host headers', { Connection: 'close' });
    const match = this.options.policy.match(method, target.path, target.query);
    if (match.kind === 'redirect') return this.leadsNowhere(target.path) ? notFound : redirect(method, match.location);
    const route = match.kind === 'matched' ? this.routeOf(match.pattern) : undefined;
    if (route === undefined) return notFound;
    const refusal = await this.refusal(request, method, target.path);
    if (refusal !== null) return this.isStale(request) ? { ...refusal, headers: { ...refusal.headers, Connection: 'close' } } : refusal;
    if (route.methods !== null && !route.methods.includes(method)) return methodNotAllowed(route.methods);
    if (route.produces !== null && !accepts(request.headers.accept ?? '', route.produces)) return notAcceptable(route.produces);
    const elements = target.path.split('/').filter((element) => element !== '');
    const asked = { ...question, path: target.path, elements: elements.map((element) => decodePath(element) ?? element), query: new URLSearchParams(target.query) };
    const answer = await this.traced(request, route, () => route.answer(asked));
    return answer ?? (route.methods === null ? notFound : plainText(404, '404: Page Not Found'));
  }

  /** A tree's bare path belongs to the tree, too: it has no page of its own, but only authenticated clients learn that. */
  private routeOf(pattern: string): KubeletRoute | undefined {
    return this.routes.get(pattern) ?? this.routes.get(`${pattern}/`);
  }

  /** Whether a path lacks the slash of a directory that this server doesn't serve in its configuration. */
  private leadsNowhere(path: string): boolean {
    const match = this.options.policy.match('GET', `${path}/`, '');
    return match.kind === 'matched' && this.routeOf(match.pattern) === undefined;
  }

  private async refusal(request: IncomingMessage, method: string, path: string): Promise<HttpAnswer | null> {
    const { access, policy } = this.options;
    if (access === null) return null;
    const certificate = this.shown.get(request.socket) ?? null;
    const refusal = await refusalOf(access, policy, method, decodePath(path) ?? path, { headers: request.headers, certificate });
    // The token was for this server only.
    delete request.headers.authorization;
    return refusal;
  }

  /** Cuts a connection without further answers, unless it ends by itself. */
  private endSoon(socket: Socket, coming: Readable): void {
    const late = setTimeout(() => socket.destroy(), this.limits.lingerMillis).unref();
    for (const end of ['end', 'close']) coming.once(end, () => clearTimeout(late));
  }

  /** A request without any possible answer. */
  private broken(error: unknown, request: IncomingMessage): void {
    request.socket.destroy();
    this.failed(error, request);
  }

  /** Whether the connection's certificate was held against authorities that are no more: on a new one it may be good. */
  private isStale(request: IncomingMessage): boolean {
    const certificate = this.shown.get(request.socket) ?? null;
    return certificate !== null && this.options.tls?.clientCertificates?.isOutdated(certificate) === true;
  }

  private failed(error: unknown, request: IncomingMessage): void {
    this.options.onError(error, splitTarget(request.url ?? '').path);
  }

  private traced<T>(request: IncomingMessage, { pattern }: KubeletRoute, answer: () => T): T {
    const { trace: begin, tls } = this.options;
    if (begin === undefined) return answer();
    const { method = '', headers } = request;
    const trace = begin({ method, pattern, scheme: tls === null ? 'http' : 'https', headers });
    this.traces.set(request, trace);
    return trace.within(answer);
  }

  /** Requests made while a stream is written belong to this request's trace, too. */
  private within<T>(request: IncomingMessage, write: () => T): T {
    const trace = this.traces.get(request);
    return trace === undefined ? write() : trace.within(write);
  }

  private begun(request: IncomingMessage): number {
    this.options.onBegun?.({ method: request.method ?? '', path: splitTarget(request.url ?? '').path });
    return performance.now();
  }

  /** @param begunAt of the monotonic clock, milliseconds */
  private served(request: IncomingMessage, status: number, begunAt: number): void {
    const { method = '', url = '', headers } = request;
    this.traces.get(request)?.served(status);
    const endedMillis = Date.now();
    const startedMillis = endedMillis - (performance.now() - begunAt);
    this.options.onServed?.({ method, path: splitTarget(url).path, upgrade: headers.upgrade ?? null, status, startedMillis, endedMillis });
  }
}
