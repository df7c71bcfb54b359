// Manifests over HTTP(S): one GET, its body up to the limit, parsed once per body.
import { createHash } from 'node:crypto';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ManifestContent, ManifestResponse, ManifestUrlOperations } from '../../ports/outbound/manifests.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { manifestContentOf, maxManifestBytes, tooLargeMessage } from './manifest-content.js';

interface Request {
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

const defaultTimeoutMs = 10_000;
const excerptCharacters = 200;
const operation = 'manifestUrl.fetch';
/** The Go client's limit; ends loops. */
const maxRedirects = 10;

export class HttpManifestUrl implements PortOf<ManifestUrlOperations> {
  #last: { readonly digest: string; readonly content: ManifestContent } | null = null;

  async fetch(request: Request, call: Call): Promise<ManifestResponse> {
    const { status, statusCode, body } = await exchange(request, call);
    const digest = createHash('sha256').update(body).digest('hex');
    // The answer's status decides whether its body is parsed; an unchanged body was parsed already.
    const isWanted = statusCode === 200 && body.byteLength > 0;
    const content = !isWanted ? ({ kind: 'absent' } as const) : this.#last?.digest === digest ? this.#last.content : manifestContentOf(body);
    if (isWanted) this.#last = { digest, content };
    return { status, statusCode, bodyBytes: body.byteLength, digest, excerpt: excerptOf(body), content };
  }
}

interface Exchange {
  readonly status: string;
  readonly statusCode: number;
  readonly body: Buffer;
}

/** One deadline for redirects, headers and body together. */
async function exchange(request: Request, call: Call): Promise<Exchange> {
  const controller = new AbortController();
  let isTimeout = false;
  const timeoutMs = call.timeoutMicros === null ? defaultTimeoutMs : call.timeoutMicros / 1000;
  const timer = setTimeout(() => {
    isTimeout = true;
    controller.abort();
  }, timeoutMs);
  const cancel = (): void => controller.abort();
  call.signal.addEventListener('abort', cancel);
  if (call.signal.aborted) controller.abort();
  try {
    return await followed(request, controller.signal);
  } catch (error) {
    if (error instanceof PortError) throw error;
    if (isTimeout) throw failure('deadline-exceeded', `${request.url}: no answer within ${timeoutMs / 1000} s`, request.url, error);
    if (controller.signal.aborted) throw failure('cancelled', `${request.url}: cancelled`, request.url, error);
    throw failure('unavailable', `${request.url}: ${error instanceof Error ? error.message : String(error)}`, request.url, error);
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener('abort', cancel);
  }
}

async function followed(request: Request, signal: AbortSignal): Promise<Exchange> {
  let url = parsedUrl(request.url, request.url);
  let { headers } = request;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const response = await send(url, headers, signal);
    const { location } = response.headers;
    const statusCode = response.statusCode ?? 0;
    if (location === undefined || ![301, 302, 303, 307, 308].includes(statusCode)) {
      return { status: `${statusCode} ${response.statusMessage ?? ''}`.trim(), statusCode, body: await bodyOf(response, request.url) };
    }
    response.destroy();
    const next = parsedUrl(new URL(location, url).href, request.url);
    // Headers may hold credentials, which are for the host that was configured.
    if (next.host !== url.host) headers = {};
    url = next;
  }
  throw failure('failed-precondition', `${request.url}: stopped after ${maxRedirects} redirects`, request.url);
}

function parsedUrl(text: string, subject: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) throw failure('invalid-argument', `${text}: not an http or https URL`, subject);
  return url;
}

function send(url: URL, headers: Request['headers'], signal: AbortSignal): Promise<IncomingMessage> {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, [...values]]));
  return new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? httpsGet : httpGet;
    // A connection of its own: the next request is 20 s away, and one that was kept may have died.
    get(url, { headers: sent, agent: false, signal }, resolve).on('error', reject);
  });
}

async function bodyOf(response: IncomingMessage, subject: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    total += chunk.length;
    if (total > maxManifestBytes) {
      response.destroy();
      throw failure('out-of-range', `${subject}: the body is ${tooLargeMessage}`, subject);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function excerptOf(body: Buffer): string {
  const text = body.subarray(0, excerptCharacters * 4).toString('utf8');
  return text.length > excerptCharacters ? `${text.slice(0, excerptCharacters)}…` : text;
}

function failure(kind: PortErrorKind, message: string, subject: string, cause?: unknown): PortError {
  return new PortError({ kind, message, operation, subject, ...(cause === undefined ? {} : { cause }) });
}
