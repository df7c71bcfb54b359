// Writes an answer: at once, or as it comes. Invariant: a client that reads slowly holds up who writes, and one that is gone ends it.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { HttpAnswer } from './http-answer.js';
import type { StreamAnswer } from './kubelet-routes.js';

/** @param onError told of what went wrong after a stream had begun; its text is the end of the body, as the status has been sent */
export async function writeAnswer(response: ServerResponse, method: string, answer: HttpAnswer | StreamAnswer, onError: (error: unknown) => void): Promise<void> {
  if (!('chunks' in answer)) {
    const body = Buffer.from(answer.body);
    response.writeHead(answer.status, { ...answer.headers, 'Content-Length': body.length });
    response.end(method === 'HEAD' ? undefined : body);
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.flushHeaders();
  try {
    for await (const chunk of answer.chunks) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drained(response);
    }
  } catch (error) {
    if (response.destroyed) return;
    onError(error);
    response.write(error instanceof Error ? error.message : String(error));
  }
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const gone = new AbortController();
  const closed = () => gone.abort();
  response.once('close', closed);
  try {
    await once(response, 'drain', { signal: gone.signal });
  } catch {
    // The client is gone, which the caller sees for itself.
  } finally {
    response.off('close', closed);
  }
}
