// Writes an answer, at once or as a stream. Invariant: a slow client slows the writer down, and a closed one ends it.
import type { ServerResponse } from 'node:http';
import { Drain } from './drain.js';
import type { HttpAnswer } from './http-answer.js';
import type { StreamAnswer } from './kubelet-routes.js';

/** @param onError called for an error after a stream had begun; its text ends the body, since the status has been sent */
export async function writeAnswer(response: ServerResponse, method: string, answer: HttpAnswer | StreamAnswer, onError: (error: unknown) => void): Promise<void> {
  if (!('chunks' in answer)) {
    const body = Buffer.from(answer.body);
    response.writeHead(answer.status, { ...answer.headers, 'Content-Length': body.length });
    response.end(method === 'HEAD' ? undefined : body);
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.flushHeaders();
  const drain = new Drain(response);
  try {
    for await (const chunk of answer.chunks) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drain.next();
    }
  } catch (error) {
    if (response.destroyed) return;
    onError(error);
    response.write(error instanceof Error ? error.message : String(error));
  } finally {
    drain.end();
  }
  response.end();
}
