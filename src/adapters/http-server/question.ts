// A request as a question to a route: its method and headers, its body when somebody wants it, and a signal that tells when the client is gone.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KubeletQuestion } from './kubelet-routes.js';

export interface AskedQuestion {
  readonly question: Pick<KubeletQuestion, 'method' | 'headers' | 'body' | 'signal'>;
  /** Whatever still works for it is to end. */
  cancel(): void;
}

/** A body that nobody reads is thrown away, and one that is too large ends the connection. */
export function questionOf(request: IncomingMessage, response: ServerResponse, bodyBytesMax: number): AskedQuestion {
  const gone = new AbortController();
  const cancel = () => gone.abort();
  response.once('close', cancel);
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) request.destroy();
    else chunks.push(chunk);
  });
  const body = new Promise<string>((resolve, reject) => {
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.once('close', () => reject(new Error('the request ended before its body did')));
  });
  body.catch(() => {});
  return { question: { method: request.method ?? 'GET', headers: request.headers, body: () => body, signal: gone.signal }, cancel };
}
