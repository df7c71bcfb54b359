// A request for a route: its method and headers, its body on demand, and a signal that fires when the client disconnects.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KubeletQuestion } from './kubelet-routes.js';

export interface AskedQuestion {
  readonly question: Pick<KubeletQuestion, 'method' | 'headers' | 'body' | 'signal'>;
  /** Ends all work for the request. */
  cancel(): void;
}

/** Reads a body only on a route's demand, so after authentication; an unread one ends with the answer, and an oversized one ends the connection. */
export function questionOf(request: IncomingMessage, response: ServerResponse, bodyBytesMax: number): AskedQuestion {
  const gone = new AbortController();
  const cancel = () => gone.abort();
  response.once('close', cancel);
  let body: Promise<string> | null = null;
  const read = (): Promise<string> => {
    body ??= bodyOf(request, bodyBytesMax);
    return body;
  };
  return { question: { method: request.method ?? 'GET', headers: request.headers, body: read, signal: gone.signal }, cancel };
}

function bodyOf(request: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const body = new Promise<string>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) request.destroy();
      else chunks.push(chunk);
    });
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.once('close', () => reject(new Error('the request ended before its body did')));
    if (request.destroyed) reject(new Error('the request ended before its body was read'));
  });
  body.catch(() => {});
  return body;
}
