// Port-forwards of WebSocket clients that put SPDY's bytes into messages (`SPDY/3.1+portforward.k8s.io`), to a server that speaks SPDY alone.
// Invariants: the client's handshake is answered once the server has agreed; data from before one side's end reaches the other one.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';
import { GuardedWriter } from './guarded-writer.js';
import { dialSpdy, type SpdyDialOptions } from './spdy-dial.js';
import { spdyUpgrade } from './upgrade.js';
import { acceptTunnel, offeredProtocols } from './web-socket.js';

const tunnelPrefix = `${spdyUpgrade}+`;

/** A refused tunnel, as the client's HTTP answer. */
export interface TunnelRefusal {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The client's protocols within the tunnel; null: it requests no tunnel. */
export function offeredInTunnel(request: Pick<IncomingMessage, 'headers'>): readonly string[] | null {
  const offered = offeredProtocols(request).filter((name) => name.startsWith(tunnelPrefix));
  return offered.length === 0 ? null : offered.map((name) => name.slice(tunnelPrefix.length)).filter((name) => name !== '');
}

/** Resolves with null when both ends are closed. @param url of the server, which may admit every client that knows it */
export async function tunnelSpdy(request: IncomingMessage, socket: Duplex, head: Buffer, url: URL, dial: Omit<SpdyDialOptions, 'signal'>): Promise<TunnelRefusal | null> {
  const protocols = offeredInTunnel(request) ?? [];
  const text = 'text/plain; charset=utf-8';
  if (protocols.length === 0) return { status: 400, contentType: text, body: 'unable to upgrade: no tunneling spdy protocols provided\n' };
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  const dialed = await dialSpdy(url, protocols, { ...dial, signal: gone.signal });
  if (dialed.kind === 'refused') return { status: dialed.status, contentType: dialed.contentType, body: dialed.body };
  if (dialed.kind === 'unreachable') return { status: 502, contentType: text, body: `error dialing backend: ${dialed.message}\n` };
  const server = dialed.socket as Socket;
  server.on('error', () => server.destroy());
  const tunnel = await acceptTunnel(request, socket, head, `${tunnelPrefix}${dialed.protocol}`);
  if (tunnel === null) {
    server.destroy();
    return null;
  }
  tunnel.on('error', () => tunnel.destroy());
  if (dialed.head.length > 0) tunnel.write(dialed.head);
  await Promise.all([passed(tunnel, new GuardedWriter(server)), passed(server, tunnel)]);
  return null;
}

/** Resolves when the writer is closed. Forwards its data, then its end. */
function passed(from: Readable, to: Writable): Promise<void> {
  from.pipe(to);
  // What comes for a side that is closed is thrown away: its end is still to be seen.
  to.once('close', () => from.resume());
  return new Promise((resolve) => {
    from.once('close', () => {
      to.end();
      resolve();
    });
    if (from.destroyed) resolve();
  });
}
