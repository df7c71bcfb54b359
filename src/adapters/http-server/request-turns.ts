// Pipelined requests of one connection are answered one after the other, as in Go's server: in parallel, one connection could have
// thousands of answers made that it never reads.
// Invariant: at most one request per connection is processed; another one waits, and one too many ends the connection.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

interface Turns {
  /** Requests without their whole answer. */
  unanswered: number;
  /** Resolves when the latest of them has its turn, or the connection is closed. */
  over: Promise<void>;
}

const requestsWaitingMax = 100;

export class RequestTurns {
  private readonly connections = new WeakMap<Duplex, Turns>();

  /** @param onQuiet called when a connection has no unanswered request left */
  constructor(private readonly onQuiet: (socket: IncomingMessage['socket']) => void) {}

  unansweredOn(socket: Duplex): number {
    return this.connections.get(socket)?.unanswered ?? 0;
  }

  /** Resolves when it is this request's turn: true, or false if the client has disconnected. */
  async turnOf({ socket }: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const turns = this.connections.get(socket) ?? { unanswered: 0, over: Promise.resolve() };
    this.connections.set(socket, turns);
    const { over } = turns;
    const isFirst = turns.unanswered === 0;
    turns.unanswered++;
    let ends = (): void => {};
    turns.over = new Promise((resolve) => {
      ends = resolve;
    });
    response.once('close', () => {
      turns.unanswered--;
      ends();
      if (turns.unanswered === 0 && !socket.destroyed) this.onQuiet(socket);
    });
    if (turns.unanswered > requestsWaitingMax) socket.destroy();
    if (!isFirst) await over;
    // A request that had to wait gets no `close` of its own.
    if (socket.destroyed) ends();
    return !socket.destroyed;
  }
}
