// A SPDY/3.1 client: a POST with an upgrade request, over HTTP or HTTPS.
// Invariant: a refusal is returned unchanged, up to a length; a failed request leaves nothing open.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import { spdyUpgrade } from './upgrade.js';

export interface SpdyDialOptions {
  /** The client's certificate; made once, since that costs more than a session does. */
  readonly secureContext?: SecureContext;
  readonly rejectUnauthorized?: boolean;
  /** Until the answer. */
  readonly answerMillis: number;
  /** The caller's cancellation. */
  readonly signal?: AbortSignal;
}

export type SpdyDialed =
  | { readonly kind: 'upgraded'; readonly socket: Duplex; readonly head: Buffer /** '' when it wasn't said. */; readonly protocol: string }
  | { readonly kind: 'refused'; readonly status: number; readonly contentType: string; readonly body: string }
  | { readonly kind: 'unreachable'; readonly message: string };

/** Of a refusal. */
const bodyBytesMax = 64 * 1024;

/** @param protocols the offered ones, the preferred one first */
export function dialSpdy(url: URL, protocols: readonly string[], { answerMillis, ...tls }: SpdyDialOptions): Promise<SpdyDialed> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = { Connection: 'Upgrade', Upgrade: spdyUpgrade, 'X-Stream-Protocol-Version': [...protocols] };
  return new Promise((resolve) => {
    const asked = send(url, { ...tls, method: 'POST', headers, agent: false, ALPNProtocols: ['http/1.1'] } as Parameters<typeof httpsRequest>[1]);
    const late = setTimeout(() => asked.destroy(new Error('i/o timeout')), answerMillis);
    const done = (dialed: SpdyDialed): void => {
      clearTimeout(late);
      resolve(dialed);
    };
    asked.once('upgrade', ({ headers: said }, socket, head) => {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      done({ kind: 'upgraded', socket, head, protocol: String(said['x-stream-protocol-version'] ?? '') });
    });
    asked.once('response', (response) => {
      void bodyOf(response).then((body) => done({ kind: 'refused', status: response.statusCode ?? 0, contentType: response.headers['content-type'] ?? 'text/plain', body }));
    });
    asked.once('error', ({ message }) => done({ kind: 'unreachable', message }));
    asked.end();
  });
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length;
      if (bytes > bodyBytesMax) break;
      chunks.push(chunk as Buffer);
    }
  } catch {
    // The part before a break is the answer.
  }
  return Buffer.concat(chunks).toString('utf8');
}
