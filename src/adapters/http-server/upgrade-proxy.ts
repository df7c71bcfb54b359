// Forwards an upgraded connection to the runtime's streaming server, byte for byte (spec/config-and-api.md, 12): SPDY and WebSocket,
// neither of which is parsed here.
// Invariants: data from before one side's end reaches the other (upgrade-join); a slow reader slows its writer, and nothing is buffered in
// between; the target, which admits every client that knows it, is never part of an error or a log line.
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { withoutWebsocketBearer } from './access/websocket-bearer.js';
import { type BackendConnection, type DialOptions, dialBackend } from './backend-connection.js';
import { type HttpAnswer, strictText } from './http-answer.js';
import { passOnEach } from './pass-on.js';
import { defaultJoinLimits, type JoinLimits, joined } from './upgrade-join.js';

export interface ProxyLimits extends JoinLimits {
  readonly dialMillis: number;
  /** From the request until the runtime's answer. */
  readonly answerMillis: number;
  /** For an answer that is no upgrade. */
  readonly relayMillis: number;
}

export const defaultProxyLimits: ProxyLimits = { dialMillis: 30_000, answerMillis: 60_000, relayMillis: 10_000, ...defaultJoinLimits };
/** Silence on a connection after which the kernel probes the peer. */
const keepAliveMillis = 15_000;
const headBytesMax = 64 * 1024;
const endOfHead = Buffer.from('\r\n\r\n');

/** Writes an answer and closes. */
export function answerOnSocket(socket: Duplex, { status, headers, body }: HttpAnswer): void {
  const bytes = Buffer.from(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    Buffer.concat([
      Buffer.from([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, `Content-Length: ${bytes.length}`, 'Connection: close', '', ''].join('\r\n')),
      bytes,
    ]),
  );
}

/** Resolves when both ends are closed. @param client the client's connection, and the bytes that came with its request */
export async function proxyUpgrade(
  request: IncomingMessage,
  client: Socket,
  clientHead: Buffer,
  target: URL,
  tls: DialOptions = {},
  limits: ProxyLimits = defaultProxyLimits,
): Promise<void> {
  client.on('error', () => client.destroy());
  const connection = await dialBackend(target, tls, limits.dialMillis).catch(() => null);
  if (connection === null) {
    answerOnSocket(client, strictText(500, 'error dialing backend: the streaming server of the container runtime does not answer\n'));
    return;
  }
  const backend = connection.socket;
  backend.on('error', () => backend.destroy());
  const withdraw = (): void => void backend.destroy();
  client.once('close', withdraw);
  if (client.destroyed) {
    backend.destroy();
    return;
  }
  backend.setNoDelay(true);
  backend.setKeepAlive(true, keepAliveMillis);
  client.setNoDelay(true);
  client.setTimeout(0);
  backend.write(requestHead(request, client, target));
  if (clientHead.length > 0) backend.write(clientHead);
  const answer = await readHead(connection, limits.answerMillis);
  if (answer === null) {
    backend.destroy();
    answerOnSocket(client, strictText(500, 'error dialing backend: the streaming server of the container runtime gave no answer\n'));
    return;
  }
  const { status, head, rest } = answer;
  if (status === 101) {
    client.write(head);
    if (rest.length > 0) client.write(rest);
    client.off('close', withdraw);
    await joined(client, connection, limits);
    return;
  }
  if (status >= 400) await relay(client, connection, Buffer.concat([head, rest]), limits.relayMillis);
  else {
    backend.destroy();
    answerOnSocket(client, strictText(500, `invalid upgrade response: status code ${status}\n`));
  }
}

/** The client's request, with the runtime's address and without credentials, which are for this server only. */
function requestHead(request: IncomingMessage, client: Socket, target: URL): string {
  const lines = [`${request.method} ${target.pathname}${target.search} HTTP/1.1`];
  let forwarded = client.remoteAddress ?? '';
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i] ?? '';
    const value = request.rawHeaders[i + 1] ?? '';
    const lower = name.toLowerCase();
    if (lower === 'x-forwarded-for') forwarded = `${value}, ${forwarded}`;
    else if (lower === 'sec-websocket-protocol') {
      const protocols = withoutWebsocketBearer(value);
      if (protocols !== '') lines.push(`${name}: ${protocols}`);
    } else if (lower !== 'authorization') lines.push(`${name}: ${value}`);
  }
  return [...lines, `X-Forwarded-For: ${forwarded}`, '', ''].join('\r\n');
}

interface AnswerHead {
  readonly status: number;
  readonly head: Buffer;
  readonly rest: Buffer;
}

/** null: it ended before, isn't HTTP, or takes too long. */
function readHead(connection: BackendConnection, answerMillis: number): Promise<AnswerHead | null> {
  const { socket } = connection;
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const done = (answer: AnswerHead | null) => {
      clearTimeout(late);
      socket.off('end', closed);
      socket.off('close', closed);
      connection.hold();
      resolve(answer);
    };
    const closed = () => done(null);
    const late = setTimeout(closed, answerMillis);
    socket.once('end', closed);
    socket.once('close', closed);
    connection.receive((chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      const at = bytes.indexOf(endOfHead);
      if (at < 0) {
        if (bytes.length > headBytesMax) done(null);
        return bytes.length <= headBytesMax;
      }
      const head = bytes.subarray(0, at + endOfHead.length);
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head.toString('latin1'))?.[1] ?? '0');
      done(status === 0 ? null : { status, head, rest: bytes.subarray(head.length) });
      return false;
    });
  });
}

/** Forwards a refusal unchanged. */
function relay(client: Socket, connection: BackendConnection, soFar: Buffer, relayMillis: number): Promise<void> {
  const { socket } = connection;
  return new Promise((resolve) => {
    const limit = setTimeout(() => socket.destroy(), relayMillis);
    client.write(soFar);
    socket.once('close', () => {
      clearTimeout(limit);
      client.end();
      resolve();
    });
    // The request has no more data.
    socket.once('end', () => socket.destroy());
    connection.receive(passOnEach(connection, client));
  });
}
