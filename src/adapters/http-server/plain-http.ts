// Plain HTTP on a port of HTTPS: whoever forgot the `s` is told so, in the words of Go's server, instead of having the connection cut.
// Invariant: only what OpenSSL has known to be a request of HTTP is answered, once, and its connection is closed; nothing is kept of one that is gone.
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

const answer = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

export function answerPlainHttp(server: Server): void {
  // What failed is the layer on top, which does not say what it stands on.
  const below = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    below.set(key, socket);
    socket.once('close', () => {
      if (below.get(key) === socket) below.delete(key);
    });
  });
  server.on('tlsClientError', (error: NodeJS.ErrnoException, failed: TLSSocket) => {
    const socket = below.get(keyOf(failed));
    if (error.code !== 'ERR_SSL_HTTP_REQUEST' || socket === undefined || socket.destroyed) return;
    socket.on('error', () => socket.destroy());
    socket.end(answer, () => socket.destroy());
  });
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
