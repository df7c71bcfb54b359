// Plain HTTP on an HTTPS port: answers a client that forgot the `s` in the words of Go's server, instead of cutting the connection.
// Invariant: answers only what OpenSSL recognized as an HTTP request, once, and closes its connection; nothing is kept for a closed one.
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

const answer = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

export function answerPlainHttp(server: Server): void {
  // The TLS layer failed, which doesn't expose its underlying socket.
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
