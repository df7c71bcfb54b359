// Ports of a mock pod, for port-forward: in SPDY pairs of streams per request, one for data and one for errors; in WebSocket
// two channels per port. The servers behind the ports are simulated (`serve=` of the container's script).
// Invariants: streams of one request are paired in either order, and wait for each other a limited time; a failure is reported on its own error
// stream, and doesn't affect the session's other transfers.
import type { Duplex } from 'node:stream';
import type { ServedKind } from '../../../sim/index.js';
import { SpdyConnection, type SpdyStream, type WebSocketChannels } from '../../streaming/index.js';

/** null: no server listens there. */
export type PortLookup = (port: number) => { readonly serves: ServedKind; readonly healthy: boolean } | null;

export interface ForwardPlan {
  readonly pod: string;
  readonly lookup: PortLookup;
  readonly wrote: () => void;
  /** How long one stream of a pair may wait for the other. */
  readonly pairMillis: number;
}

interface Pair {
  data: SpdyStream | null;
  error: SpdyStream | null;
  readonly late: NodeJS.Timeout;
}

const headBytesMax = 64 * 1024;
const portMax = 65_535;
/** Two for each connection that a client has open at once. */
const streamsMax = 4_096;

/** Resolves when the connection closes. @param hang accepts streams without any answer */
export function spdyForwards(socket: Duplex, head: Buffer, plan: ForwardPlan, hang: boolean): Promise<void> {
  const pairs = new Map<string, Pair>();
  const accept = (stream: SpdyStream): boolean => {
    const { port, type, request } = asked(stream);
    if (port === null || (type !== 'data' && type !== 'error')) return false;
    if (hang) return true;
    const pair = pairs.get(request) ?? { data: null, error: null, late: setTimeout(() => giveUp(request), plan.pairMillis) };
    pairs.set(request, pair);
    if (pair[type] !== null) return false;
    pair[type] = stream;
    const { data, error } = pair;
    if (data === null || error === null) return true;
    clearTimeout(pair.late);
    pairs.delete(request);
    setImmediate(() => void forward(data, error, port, plan));
    return true;
  };
  const giveUp = (request: string): void => {
    const pair = pairs.get(request);
    pairs.delete(request);
    pair?.error?.end(`(request=${request}) timed out waiting for streams`);
    pair?.error?.resume();
    pair?.data?.destroy();
  };
  const connection = new SpdyConnection(socket, { role: 'server', accept, streamsMax }, head);
  return connection.closed.then(() => {
    for (const { late } of pairs.values()) clearTimeout(late);
    pairs.clear();
  });
}

/** Clients of old name no request: their error stream comes just before its data stream. */
function asked({ headers, id }: SpdyStream): { readonly port: number | null; readonly type: string; readonly request: string } {
  const text = headers.get('port') ?? '';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  const type = (headers.get('streamtype') ?? '').toLowerCase();
  return { port: port >= 1 && port <= portMax ? port : null, type, request: headers.get('requestid') ?? String(type === 'data' ? id - 2 : id) };
}

/** Each channel begins with its port. */
export function webSocketForwards(channels: WebSocketChannels, ports: readonly number[], plan: ForwardPlan, hang: boolean): Promise<void> {
  for (const [i, port] of ports.entries()) {
    const [data, error] = [channels.channel(2 * i), channels.channel(2 * i + 1)];
    const number = Buffer.alloc(2);
    number.writeUInt16LE(port);
    data.write(number);
    error.write(number);
    if (!hang) void forward(data, error, port, plan);
  }
  return channels.closed;
}

async function forward(data: Duplex, error: Duplex, port: number, plan: ForwardPlan): Promise<void> {
  error.resume();
  const served = plan.lookup(port);
  const problem = served === null ? `failed to connect to localhost:${port}: dial tcp4 127.0.0.1:${port}: connect: connection refused` : await serve(data, served, plan.wrote);
  if (problem !== null) error.write(`error forwarding port ${port} to pod ${plan.pod}, uid : ${problem}`);
  error.end();
  data.end();
  data.resume();
}

/** null: it ended well. */
async function serve(data: Duplex, { serves, healthy }: { readonly serves: ServedKind; readonly healthy: boolean }, wrote: () => void): Promise<string | null> {
  const over = new Promise<null>((resolve) => {
    data.once('end', () => resolve(null));
    data.once('close', () => resolve(null));
  });
  switch (serves) {
    case 'echo':
      data.on('data', () => setImmediate(wrote));
      data.pipe(data, { end: false });
      return over;
    case 'discard':
      data.on('data', wrote);
      return over;
    case 'http':
      return Promise.race([over, http(data, healthy, wrote)]);
    case 'reset':
      return Promise.race([
        over,
        new Promise<string>((resolve) => {
          data.once('data', () => resolve('read: connection reset by peer'));
        }),
      ]);
  }
}

/** Answers one request of any kind. */
function http(data: Duplex, healthy: boolean, wrote: () => void): Promise<null> {
  return new Promise((resolve) => {
    let head = '';
    const read = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n') && head.length < headBytesMax) return;
      data.off('data', read);
      const body = healthy ? 'ok' : 'unhealthy';
      const status = healthy ? '200 OK' : '503 Service Unavailable';
      data.write(`HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`, () => {
        wrote();
        resolve(null);
      });
    };
    data.on('data', read);
  });
}
