// Answers of the server: JSON, compressed if it is long and the client accepts it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, gzipSync } from 'node:zlib';
import type { JsonObject } from '../../sim/index.js';

/** Shorter answers stay uncompressed, as by the real server. */
const minCompressedBytes = 128 * 1024;

export function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  code: number,
  body: unknown,
  contentType = 'application/json',
  warnings: readonly string[] = [],
): void {
  const bytes = Buffer.from(`${JSON.stringify(body)}\n`, 'utf8');
  for (const warning of warnings) response.appendHeader('Warning', `299 - ${JSON.stringify(warning)}`);
  const retryAfter = (body as { readonly details?: { readonly retryAfterSeconds?: number } }).details?.retryAfterSeconds;
  if (code >= 400 && retryAfter !== undefined) response.setHeader('Retry-After', String(retryAfter));
  response.setHeader('Content-Type', contentType);
  response.setHeader('Cache-Control', 'no-cache, private');
  const wantsGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (wantsGzip && bytes.length > minCompressedBytes) {
    response.setHeader('Content-Encoding', 'gzip');
    response.writeHead(code).end(gzipSync(bytes, { level: constants.Z_BEST_SPEED }));
  } else response.writeHead(code, { 'Content-Length': bytes.length }).end(bytes);
}

export function sendText(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' }).end(text);
}

export type WantedForm = 'json' | 'table' | 'metadata' | 'unacceptable';

/** The first of the media types that the server has. */
export function wantedForm(accept: string | undefined): WantedForm {
  if (accept === undefined || accept === '') return 'json';
  for (const entry of accept.split(',')) {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
    if (type !== 'application/json' && type !== '*/*' && type !== 'application/*') continue;
    const as = parameters.find((parameter) => parameter.startsWith('as='))?.slice(3);
    if (as === undefined) return 'json';
    if (as === 'Table') return 'table';
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return 'metadata';
  }
  return 'unacceptable';
}

export function unauthorized(): JsonObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'Unauthorized', reason: 'Unauthorized', code: 401 };
}

export function notAcceptable(): JsonObject {
  const message = '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf';
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'NotAcceptable', details: {}, code: 406 };
}
