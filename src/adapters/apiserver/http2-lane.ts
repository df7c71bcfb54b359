// Requests over HTTP/2: all requests and watches share one connection, as in the Go kubelet; another one is opened when the server's stream limit
// is reached. A silent connection is pinged.
//
// Invariants: one connection at a time is in setup, within a bounded time, and callers waiting for it may give up; each sent request
// gets exactly one end.
import type { Socket } from 'node:net';
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { Http2Connection, headerBlock, type LivenessLimits } from '../http2/index.js';
import { type Answer, broken, problemOf, StreamedAnswer, Unseen } from './answer.js';
import { isBrokenConnection } from './connection-errors.js';
import type { ClientIdentity } from './credentials.js';
import { tlsOptions } from './http1-lane.js';
import { asError, connectMillis, hostOf, keepAliveProbeMillis, type Outgoing, pathOf, type Route, StaleConnection } from './lane.js';
import { openTunnel } from './proxy.js';

/** The assumed limit of concurrent requests until the server sends its own. */
const assumedStreams = 100;
const handshakeMillis = 10_000;

/** The server supports only HTTP/1.1. The connection on which it said so is open. */
export class OnlyHttp1 extends Error {
  constructor(readonly socket: Socket) {
    super('the server speaks HTTP/1.1');
  }
}

export class Http2Lane {
  private readonly connections = new Set<Http2Connection>();
  /** Those that have answered before. */
  private readonly proven = new WeakSet<Http2Connection>();
  private readonly watches = new Set<() => void>();
  private dialling: Promise<Http2Connection> | null = null;
  private socket: Socket | null = null;
  private isOver = false;
  private common: { readonly authorization: string | null; readonly block: Buffer } | null = null;

  constructor(
    private readonly route: Route,
    private readonly liveness: LivenessLimits,
  ) {}

  /** As Lane.send; rejects with OnlyHttp1 if the server supports nothing newer. */
  async send(outgoing: Outgoing, identity: ClientIdentity): Promise<Answer> {
    let connection = this.free();
    while (connection === null) {
      await abortable(this.dialled(), outgoing.signal);
      connection = this.free();
    }
    return this.ask(connection, outgoing, this.headers(outgoing, identity));
  }

  /** As Lane.retire. */
  retire(): void {
    for (const end of [...this.watches]) end();
  }

  /** As Lane.destroy. */
  destroy(): void {
    this.isOver = true;
    this.socket?.destroy();
    for (const connection of this.connections) connection.destroy();
  }

  private free(): Http2Connection | null {
    for (const connection of this.connections) if (connection.free(assumedStreams) > 0) return connection;
    return null;
  }

  private ask(connection: Http2Connection, { body, isWatch, signal }: Outgoing, headers: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let answer: StreamedAnswer | null = null;
      const over = (): void => {
        signal.removeEventListener('abort', abort);
        this.watches.delete(cut);
      };
      const end = (problem: Error | null): void => {
        over();
        if (answer !== null) answer.ended(problem);
        else if (problem === null) reject(broken('socket hang up'));
        else reject(this.proven.has(connection) && (isBrokenConnection(problem) || problem instanceof Unseen) ? new StaleConnection(problem) : problem);
      };
      const request = connection.request(headers, Buffer.from(body ?? '', 'utf8'), {
        headers: (block) => {
          // A second block has trailers, which are ignored.
          if (answer !== null) return;
          this.proven.add(connection);
          answer = new StreamedAnswer(Number(block.get(':status') ?? 0), block, request, over);
          resolve(answer);
        },
        data: (bytes) => answer?.take(bytes),
        ended: (how) => end(problemOf(how, connection.problem)),
      });
      const stop = (problem: Error): void => {
        request.cancel();
        end(problem);
      };
      const abort = (): void => stop(asError(signal.reason));
      const cut = (): void => stop(broken('aborted'));
      signal.addEventListener('abort', abort, { once: true });
      if (isWatch) this.watches.add(cut);
    });
  }

  private headers({ method, path, headers }: Outgoing, { authorization }: ClientIdentity): Buffer {
    if (this.common === null || this.common.authorization !== authorization) {
      const { server, userAgent } = this.route;
      const proof = authorization === null ? {} : { authorization };
      this.common = { authorization, block: headerBlock({ ':scheme': 'https', ':authority': server.host, 'user-agent': userAgent, ...proof }) };
    }
    const own: Record<string, string> = {};
    for (const name in headers) own[name.toLowerCase()] = headers[name] as string;
    return Buffer.concat([headerBlock({ ':method': method, ':path': pathOf(this.route, path) }), this.common.block, headerBlock(own)]);
  }

  private dialled(): Promise<Http2Connection> {
    this.dialling ??= this.dial().finally(() => {
      this.dialling = null;
      this.socket = null;
    });
    return this.dialling;
  }

  private async dial(): Promise<Http2Connection> {
    if (this.isOver) throw new Error('the client is closed');
    const { server, proxy } = this.route;
    const port = server.port === '' ? 443 : Number(server.port);
    const via = proxy === null ? { host: hostOf(this.route), port } : { socket: await openTunnel(proxy, hostOf(this.route), port, connectMillis), host: hostOf(this.route) };
    const socket = tlsConnect({ ...via, ...tlsOptions(this.route), ALPNProtocols: ['h2', 'http/1.1'] } as ConnectionOptions);
    this.socket = socket;
    await secured(socket, server.host);
    if (this.isOver) {
      socket.destroy();
      throw new Error('the client is closed');
    }
    if (socket.alpnProtocol !== 'h2') {
      throw new OnlyHttp1(socket);
    }
    const connection: Http2Connection = new Http2Connection({
      dial: () => socket,
      spoke: () => {},
      left: () => this.connections.delete(connection),
      liveness: this.liveness,
    });
    this.connections.add(connection);
    return connection;
  }
}

/** Resolves when the handshake is done. Rejects with what broke, or when it takes too long. */
function secured(socket: TLSSocket, host: string): Promise<void> {
  socket.setKeepAlive(true, keepAliveProbeMillis);
  socket.setNoDelay(true);
  return new Promise((resolve, reject) => {
    const fail = (message: string): void => void socket.destroy(new Error(message));
    let timer = setTimeout(() => fail(`dial tcp ${host}: i/o timeout`), connectMillis - handshakeMillis);
    socket.once('connect', () => {
      clearTimeout(timer);
      timer = setTimeout(() => fail('net/http: TLS handshake timeout'), handshakeMillis);
    });
    const settle = (): void => {
      clearTimeout(timer);
      socket.off('error', reject);
    };
    socket.on('error', reject);
    socket.once('close', () => {
      settle();
      reject(broken('socket hang up'));
    });
    socket.once('secureConnect', () => {
      settle();
      resolve();
    });
  });
}

/** The same, or the reason of the signal if that comes first. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(asError(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  });
}
