// One GET with its redirects, within one time limit from the first connection to the end of the last body.
// Invariants: a connection serves one request; no certificate is verified, no proxy is used; only requested headers are sent,
// besides those that the protocol needs, and the referer after a redirect.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { redirectDecision } from '../../domain/values/http-redirect.js';
import type { HttpGetAnswer, HttpGetRequest } from '../../ports/outbound/probing.js';
import { connectionErrorText } from './connection-errors.js';

/** How much of a body is waited for and shown. */
const bodyMaxBytes = 10 * 1024;
/** The rest of a character that begins within it, if it has arrived. */
const characterRestBytes = 3;
/** Go's client sends these by itself, or not at all; it ignores those of its caller. */
const ownHeaders: ReadonlySet<string> = new Set(['Content-Length', 'Trailer', 'Transfer-Encoding']);
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** As in the Go kubelet: a workload may send more than Node's 16 KiB of headers. */
const headersMaxBytes = 10 * 1024 * 1024;
/** OpenSSL's error for a plain HTTP answer. */
const plainHttpProblem = /SSL routines.*:(wrong version number|packet length too long|http request):/s;

export async function httpGet(asked: HttpGetRequest, signal: AbortSignal): Promise<HttpGetAnswer> {
  const limit = new Limit(asked.timeoutMicros, signal);
  let { url, headers } = asked;
  try {
    for (let requests = 1; ; requests++) {
      const response = await send(url, headers, limit);
      const target = redirects.has(response.statusCode ?? 0) ? redirectTarget(response, url) : null;
      const decision = target === null ? null : redirectDecision(asked.url, target, requests);
      if (target === null || decision === null || decision.decision === 'useThisResponse') return await answered(response, limit);
      response.destroy();
      const location = response.headers.location ?? '';
      if (decision.decision === 'fail') return { kind: 'failed', error: `Get ${JSON.stringify(location)}: ${decision.error}`, plainHttp: false };
      headers = redirectedHeaders(asked.headers, url, target, location);
      url = target;
    }
  } catch (error) {
    const plainHttp = error instanceof Error && plainHttpProblem.test(error.message);
    return { kind: 'failed', error: `Get ${JSON.stringify(url)}: ${reasonOf(error, url, limit, plainHttp)}`, plainHttp };
  } finally {
    limit.over();
  }
}

/**
 * Ends a GET before its answer: by its timeout, or by its caller. Written by hand, since dependent abort signals cost as much as the
 * whole request, of which there are hundreds a second.
 */
class Limit {
  private passed = false;
  private ended = false;
  private request: ClientRequest | null = null;
  private readonly timer: NodeJS.Timeout | null;

  constructor(
    timeoutMicros: number | null,
    private readonly caller: AbortSignal,
  ) {
    this.timer = timeoutMicros === null ? null : setTimeout(() => this.pass(), timeoutMicros / 1_000);
    caller.addEventListener('abort', this.end, { once: true });
    this.ended = caller.aborted;
  }

  /** The time is up. */
  get isPassed(): boolean {
    return this.passed;
  }

  /** Sets the request to end. */
  holds(request: ClientRequest): void {
    this.request = request;
    if (this.ended) this.end();
  }

  over(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.caller.removeEventListener('abort', this.end);
  }

  private pass(): void {
    this.passed = true;
    this.end();
  }

  private readonly end = (): void => {
    this.ended = true;
    this.request?.destroy(new Error('The operation was aborted'));
  };
}

function send(url: string, headers: HttpGetRequest['headers'], limit: Limit): Promise<IncomingMessage> {
  const { scheme, host, port, target } = partsOf(url);
  const sent = sentHeaders(headers);
  return new Promise((resolve, reject) => {
    const request = scheme === 'https' ? httpsRequest : httpRequest;
    const options = {
      host,
      path: target,
      headers: sent,
      agent: false,
      maxHeaderSize: headersMaxBytes,
      ...(port === null ? {} : { port }),
      ...(scheme === 'https' ? { rejectUnauthorized: false } : {}),
    };
    const sending = request(options, resolve).on('error', reject);
    limit.holds(sending);
    sending.end();
  });
}

/** As Go's client sends them: of Host and User-Agent the first value, and an empty one is not sent. */
function sentHeaders(headers: HttpGetRequest['headers']): Record<string, string | string[]> {
  const sent = Object.entries(headers).flatMap(([name, values]): [string, string | string[]][] => {
    if (ownHeaders.has(name)) return [];
    if (name !== 'Host' && name !== 'User-Agent') return [[name, [...values]]];
    const [first = ''] = values;
    return first === '' ? [] : [[name, first]];
  });
  return Object.fromEntries(sent);
}

/** Parsed by hand: the URL class would rewrite paths, which must be sent unchanged. */
function partsOf(url: string): { readonly scheme: string; readonly host: string; readonly port: number | null; readonly target: string } {
  const match = /^(https?):\/\/(?:[^/?#@]*@)?(?:\[([^\]]*)\]|([^:/?#]*))(?::([0-9]+))?([^#]*)/i.exec(url);
  if (match === null) throw new Error(`unsupported protocol scheme ${JSON.stringify(/^[a-z][a-z0-9+.-]*(?=:)/i.exec(url)?.[0] ?? '')}`);
  const [, scheme = '', bracketed, plain = '', port, target = ''] = match;
  const escaped = target.replace(/[^\u0021-\u007e]+/g, encodeURIComponent);
  return { scheme: scheme.toLowerCase(), host: bracketed ?? plain, port: port === undefined ? null : Number(port), target: escaped.startsWith('/') ? escaped : `/${escaped}` };
}

/** A requested Host applies to paths of the same server only; the referer is sent, except from https to http. */
function redirectedHeaders(asked: HttpGetRequest['headers'], from: string, to: string, location: string): HttpGetRequest['headers'] {
  const { Host: host, ...others } = asked;
  const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(location);
  const hasReferer = others['Referer'] !== undefined || (/^https:/i.test(from) && /^http:/i.test(to));
  const referer = hasReferer ? {} : { Referer: [from.replace(/^([a-z]+:\/\/)[^/?#@]*@/i, '$1').replace(/#.*$/s, '')] };
  return { ...others, ...(host === undefined || isAbsolute ? {} : { Host: host }), ...referer };
}

function redirectTarget(response: IncomingMessage, url: string): string | null {
  const { location } = response.headers;
  if (location === undefined || location === '') return null;
  if (!URL.canParse(location, url)) throw new Error(`failed to parse Location header ${JSON.stringify(location)}`);
  return new URL(location, url).href;
}

function answered(response: IncomingMessage, limit: Limit): Promise<HttpGetAnswer> {
  const { statusCode } = response;
  if (statusCode === undefined) throw new Error('malformed HTTP response');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (bodyReadError: string | null): void => {
      resolve({
        kind: 'answered',
        statusCode,
        body: Buffer.concat(chunks)
          .subarray(0, bodyMaxBytes + characterRestBytes)
          .toString('utf8'),
        bodyReadError,
      });
      response.destroy();
    };
    response
      .on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length >= bodyMaxBytes) end(null);
      })
      .on('end', () => end(null))
      .on('error', (error) => end(limit.isPassed ? 'context deadline exceeded (Client.Timeout or context cancellation while reading body)' : bodyErrorText(error)))
      // Has no effect after an earlier end.
      .on('close', () => end('unexpected EOF'));
  });
}

function bodyErrorText(error: unknown): string {
  return (error as { readonly code?: string }).code === 'ECONNRESET' ? 'unexpected EOF' : error instanceof Error ? error.message : String(error);
}

function reasonOf(error: unknown, url: string, limit: Limit, plainHttp: boolean): string {
  if (limit.isPassed) return 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
  if (plainHttp) return 'http: server gave HTTP response to HTTPS client';
  return connectionErrorText(error, /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? url);
}
