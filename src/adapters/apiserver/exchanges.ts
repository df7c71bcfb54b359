// Requests of one client: rate-limited, retried as the server asks, within their deadline.
//
// | result                                              | then                                                          |
// |-----------------------------------------------------|---------------------------------------------------------------|
// | 429 or 5xx with a Retry-After                       | waits that long and sends it again, 10 times at most          |
// | a connection that broke, and the request only reads | the same after 1 s, at once on a reused connection            |
// | the server reports that it hasn't processed it      | the same for any request                                      |
// | any other failure, or no time left to wait          | the failure, with the server's retry delay if it gave one     |
//
// Invariants: every try takes a token of the limit; no wait exceeds the call's deadline; a write whose answer was lost is never sent again
// here: only the caller knows whether that is safe.
import type { Call } from '../../ports/operation.js';
import type { ClientHappening } from '../../ports/outbound/metrics/client-happening.js';
import { PortError } from '../../ports/port-error.js';
import { type Answer, Unseen } from './answer.js';
import { type Asked, failureOf, localFailure } from './api-failures.js';
import { bytesRead, excerptOf, NotJson, TooLarge } from './body.js';
import type { TraceRequest } from './client-trace.js';
import { connectionErrorText, isBrokenConnection } from './connection-errors.js';
import type { Connections } from './connections.js';
import { StaleConnection } from './lane.js';
import { type RequestLimit, sleep } from './request-limit.js';

export interface ExchangeOptions {
  readonly connections: Connections;
  /** null: unlimited. */
  readonly limit: RequestLimit | null;
  /** The longest that a call of this client may take, watches apart. */
  readonly timeoutMicros: number;
  readonly observe?: (happening: ClientHappening) => void;
  readonly trace?: TraceRequest | null;
}

export interface Sent extends Asked {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly contentType: string | null;
  readonly body: string | null;
}

/** As in the Go client. */
const retriesMax = 10;
const brokenRetryMillis = 1_000;

class DeadlineExceeded extends Error {}

export class Exchanges {
  constructor(private readonly options: ExchangeOptions) {}

  /** Sends a request and reads its body with `read`. Rejects with PortError. */
  async call<T>(sent: Sent, call: Call, read: (response: Answer) => Promise<T>): Promise<T> {
    const limit = Math.min(call.timeoutMicros ?? Number.POSITIVE_INFINITY, this.options.timeoutMicros) / 1000;
    const scope = new Scope(call, limit);
    const begun = performance.now();
    let responseBytes: number | null = null;
    try {
      const response = await this.answer(sent, scope, false);
      const result = await read(response);
      responseBytes = bytesRead(response);
      return result;
    } catch (error) {
      throw this.asFailure(sent, error, scope);
    } finally {
      scope.end();
      this.ended(sent, begun, responseBytes);
    }
  }

  /** The answer to a watch, with its stream still to be read. The signal is the caller's to abort. */
  async openWatch(sent: Sent, scope: Scope): Promise<Answer> {
    const begun = performance.now();
    try {
      return await this.answer(sent, scope, true);
    } catch (error) {
      throw this.asFailure(sent, error, scope);
    } finally {
      this.ended(sent, begun, null);
    }
  }

  private ended({ method, body }: Sent, begun: number, responseBytes: number | null): void {
    const requestBytes = body === null ? 0 : Buffer.byteLength(body);
    this.options.observe?.({ kind: 'ended', method, host: this.options.connections.host, seconds: (performance.now() - begun) / 1000, requestBytes, responseBytes });
  }

  private tried({ method }: Sent, code: number | null, kind: 'tried' | 'retried' = 'tried'): void {
    this.options.observe?.({ kind, method, host: this.options.connections.host, code });
  }

  private async answer(sent: Sent, scope: Scope, isWatch: boolean): Promise<Answer> {
    for (let retries = 0; ; retries++) {
      if (!isWatch) await this.waitForToken(sent, scope);
      const response = await this.sendOnce(sent, scope, isWatch, retries);
      if (response === null) continue;
      const code = response.status;
      this.tried(sent, code);
      if (code >= 200 && code < 300) return response;
      if (code === 401) this.options.connections.rejected();
      const retryAfter = retryAfterOf(response);
      const body = await excerptOf(response);
      const mayRetry = retryAfter !== null && (code === 429 || code >= 500) && retries < retriesMax && scope.millisLeft() > retryAfter * 1000;
      if (!mayRetry) throw failureOf(sent, code, body, retryAfter);
      await sleep(retryAfter * 1000, scope.signal);
      this.tried(sent, code, 'retried');
    }
  }

  /** null: the connection broke, and the request may be retried. */
  private async sendOnce(sent: Sent, scope: Scope, isWatch: boolean, retries: number): Promise<Answer | null> {
    const { method, path, contentType, body } = sent;
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (contentType !== null) headers['Content-Type'] = contentType;
    if (body !== null) headers['Content-Length'] = String(Buffer.byteLength(body));
    const trace = this.options.trace?.({ method, url: this.options.connections.urlOf(path.split('?', 1)[0] as string) }) ?? null;
    if (trace !== null) Object.assign(headers, trace.headers);
    try {
      const response = await this.options.connections.send({ method, path, headers, body, isWatch, signal: scope.signal });
      trace?.ended(response.status);
      return response;
    } catch (thrown) {
      trace?.ended(null);
      const isStale = thrown instanceof StaleConnection;
      const error = isStale ? thrown.cause : thrown;
      if (!scope.signal.aborted || scope.isLate) this.tried(sent, null);
      const isUnseen = error instanceof Unseen;
      const waitMillis = (isStale || isUnseen) && retries === 0 ? 0 : brokenRetryMillis;
      const isSafe = isUnseen || (method === 'GET' && isBrokenConnection(error));
      const mayRetry = isSafe && !scope.signal.aborted && retries < retriesMax && scope.millisLeft() > waitMillis;
      if (!mayRetry) throw error;
      if (waitMillis > 0) await sleep(waitMillis, scope.signal);
      this.tried(sent, null, 'retried');
      return null;
    }
  }

  private async waitForToken(sent: Sent, scope: Scope): Promise<void> {
    const { limit, connections, observe } = this.options;
    if (limit === null) return;
    const begun = performance.now();
    const isTaken = await limit.take(scope.signal, scope.deadline);
    observe?.({ kind: 'limited', method: sent.method, host: connections.host, seconds: (performance.now() - begun) / 1000 });
    if (isTaken) return;
    const message = 'client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline';
    throw localFailure(sent, 'deadline-exceeded', message);
  }

  private asFailure(sent: Sent, error: unknown, scope: Scope): PortError {
    if (error instanceof PortError) return error;
    const { connections } = this.options;
    const prefix = `${sent.method[0]}${sent.method.slice(1).toLowerCase()} "${connections.urlOf(sent.path)}": `;
    if (scope.signal.aborted)
      return scope.isLate ? localFailure(sent, 'deadline-exceeded', `${prefix}context deadline exceeded`) : localFailure(sent, 'cancelled', 'context canceled');
    if (error instanceof TooLarge) return localFailure(sent, 'resource-exhausted', prefix + error.message);
    if (error instanceof NotJson) return localFailure(sent, 'data-loss', prefix + error.message);
    return localFailure(sent, 'unavailable', prefix + connectionErrorText(error, connections.host), error);
  }
}

/** The time limit of one call: its deadline and its cancellation as one signal. */
export class Scope {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout | null;
  private readonly cancel = (): void => this.controller.abort(asError(this.call.signal.reason));
  /** On the scale of `performance.now()`. */
  readonly deadline: number;

  /** @param millis Infinity: no limit */
  constructor(
    private readonly call: Call,
    millis: number,
  ) {
    this.deadline = performance.now() + millis;
    this.timer = Number.isFinite(millis) ? setTimeout(() => this.controller.abort(new DeadlineExceeded()), millis) : null;
    call.signal.addEventListener('abort', this.cancel);
    if (call.signal.aborted) this.cancel();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The caller may have the same deadline, and report it first. */
  get isLate(): boolean {
    return this.signal.reason instanceof DeadlineExceeded || this.millisLeft() < 5;
  }

  millisLeft(): number {
    return this.deadline - performance.now();
  }

  /** Aborts everything in progress, as if it had been cancelled. */
  abort(reason: Error): void {
    this.controller.abort(reason);
  }

  end(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.call.signal.removeEventListener('abort', this.cancel);
  }
}

/** Whole seconds only, as the Go client reads it. */
function retryAfterOf(response: Answer): number | null {
  const value = response.header('retry-after');
  return value !== undefined && /^[0-9]{1,6}$/.test(value) ? Number(value) : null;
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('context canceled');
}
