// An HTTP server on a loopback address, for health checks and local clients.
// Invariants: it listens on loopback only; slow, silent, verbose or numerous clients cost a bounded amount of memory and time;
// a handler that throws is an answer of 500, never the end of the agent.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PortError } from '../../ports/port-error.js';
import { type HttpAnswer, strictText } from './http-answer.js';
import type { StreamAnswer } from './kubelet-routes.js';
import { isLoopback } from './loopback-address.js';
import { answerOf, type Route } from './route-table.js';
import { writeAnswer } from './write-answer.js';

export interface HttpLimits {
  /** Request line and headers, in bytes. */
  readonly headerBytesMax: number;
  /** A body is read and thrown away up to here. */
  readonly bodyBytesMax: number;
  readonly connectionsMax: number;
  readonly headersMillis: number;
  /** From the first byte of a request to its last. */
  readonly requestMillis: number;
  /** Without any traffic, in either direction. */
  readonly stalledMillis: number;
  /** Between two requests. */
  readonly keepAliveMillis: number;
}

export const defaultHttpLimits: HttpLimits = {
  headerBytesMax: 64 * 1024,
  bodyBytesMax: 1024 * 1024,
  connectionsMax: 64,
  headersMillis: 10_000,
  requestMillis: 30_000,
  stalledMillis: 30_000,
  keepAliveMillis: 90_000,
};

export interface LoopbackHttpOptions {
  /** 127.0.0.0/8 or ::1; nothing else is accepted. */
  readonly address: string;
  /** 0: any free one, for tests. */
  readonly port: number;
  readonly routes: readonly Route[];
  readonly limits?: Partial<HttpLimits>;
  /** Called with an error that a handler threw. */
  readonly onError?: (error: unknown, path: string) => void;
}

export class LoopbackHttpServer {
  private constructor(private readonly server: Server) {}

  /** Errors: invalid-argument (not a loopback address), already-exists (the port is taken), permission-denied. */
  static async listen(options: LoopbackHttpOptions): Promise<LoopbackHttpServer> {
    const { address, port } = options;
    if (!isLoopback(address)) throw listenError('invalid-argument', `${address} is not a loopback address`, address);
    const limits = { ...defaultHttpLimits, ...options.limits };
    const server = createServer({ ...nodeOptions(limits) }, (request, response) => serve(options, limits, request, response));
    server.maxConnections = limits.connectionsMax;
    server.setTimeout(limits.stalledMillis);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        const kind = error.code === 'EADDRINUSE' ? 'already-exists' : error.code === 'EACCES' ? 'permission-denied' : 'unavailable';
        reject(listenError(kind, error.message, `${address}:${port}`));
      });
      server.listen({ host: address, port }, resolve);
    });
    server.on('error', (error) => options.onError?.(error, ''));
    return new LoopbackHttpServer(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Accepts no more connections, lets requests in progress end, and cuts the rest after the grace period. Idempotent. */
  async close(graceMillis: number): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.server.closeIdleConnections();
    const cut = setTimeout(() => this.server.closeAllConnections(), graceMillis);
    await closed;
    clearTimeout(cut);
  }
}

function nodeOptions(limits: HttpLimits) {
  return {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersMillis,
    requestTimeout: limits.requestMillis,
    keepAliveTimeout: limits.keepAliveMillis,
    // How late the two timeouts above may be noticed.
    connectionsCheckingInterval: Math.max(10, Math.min(limits.headersMillis / 2, 10_000)),
  };
}

function serve(options: LoopbackHttpOptions, limits: HttpLimits, request: IncomingMessage, response: ServerResponse): void {
  dropBody(request, limits.bodyBytesMax);
  const { method = 'GET', url = '' } = request;
  const failed = (error: unknown): void => options.onError?.(error, url);
  let answer: HttpAnswer | StreamAnswer;
  try {
    answer = answerOf(options.routes, method, url, request.headers.accept ?? '');
  } catch (error) {
    failed(error);
    answer = strictText(500, 'internal server error\n');
  }
  writeAnswer(response, method, answer, failed).catch(failed);
}

/** No handler takes a body; one that doesn't end is cut. */
function dropBody(request: IncomingMessage, bytesMax: number): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bytesMax) request.destroy();
  });
}

function listenError(kind: PortError['kind'], message: string, subject: string): PortError {
  return new PortError({ kind, message, operation: 'httpServer.listen', subject });
}
