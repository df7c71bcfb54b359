// Joins two connections to one stream: forwards each side's bytes to the other until it ends, then closes both.
//
// | event                               | effect                                                                                       |
// |-------------------------------------|----------------------------------------------------------------------------------------------|
// | the runtime ends, or is reset       | the client gets the pending output, then the end; its further input is read, so that no reset |
// |                                     | reaches it before it has read everything                                                     |
// | the client ends its half            | the runtime gets the pending input, then the end; its output still goes to the client        |
// | the client closes after its end     | the runtime gets the pending input; its output is discarded, up to 16 MiB of it               |
// | the client is reset                 | the runtime's connection is closed                                                            |
//
// TCP keep-alive on both connections detects a client that has closed both halves while the server writes nothing.
// Invariant: after an end, bytes are dropped only for a reset, or after one of the times of `JoinLimits` without progress.
import type { Socket } from 'node:net';
import type { BackendConnection, TakeBytes } from './backend-connection.js';
import { passOn, passOnEach } from './pass-on.js';

export interface JoinLimits {
  /** After the client's end, for a runtime that neither writes nor ends, while nothing waits for either side. */
  readonly silentMillis: number;
  /** After an end, for bytes that a side does not read, and for a client that does not close. */
  readonly unreadMillis: number;
}

/** The second one is the Go kubelet's for an idle stream. */
export const defaultJoinLimits: JoinLimits = { silentMillis: 60_000, unreadMillis: 4 * 3_600_000 };

/** More than the kernel holds of a connection. */
const thrownAwayBytesMax = 16 * 1024 * 1024;

/** Resolves when both are closed. */
export function joined(client: Socket, connection: BackendConnection, limits: JoinLimits): Promise<void> {
  const backend = connection.socket;
  return new Promise((resolve) => {
    const watch = new HalfClosedWatch(client, connection, limits);
    const closed = (): void => {
      watch.begin();
      if (!client.destroyed || !backend.destroyed) return;
      watch.end();
      resolve();
    };
    // Before the listeners for the ends: the last input is passed on before the runtime gets the end.
    passOn(client, connection);
    client.once('end', () => {
      watch.begin();
      connection.end();
    });
    backend.once('end', () => {
      watch.begin();
      client.end();
    });
    client.once('close', () => {
      // The runtime gets all input of a client that ended; after a reset the missing part is unknown.
      if (client.readableEnded) {
        connection.end();
        connection.receive(throwAway(backend));
      } else backend.destroy();
      closed();
    });
    backend.once('close', () => {
      client.end();
      closed();
    });
    connection.receive(passOnEach(connection, client));
    if (client.destroyed) backend.destroy();
  });
}

/** Output without a reader is read, since closing a socket with unread bytes resets the connection; but not that of a program which writes without end. */
function throwAway(backend: Socket): TakeBytes {
  let left = thrownAwayBytesMax;
  return (chunk) => {
    left -= chunk.length;
    if (left < 0) backend.destroy();
    return left >= 0;
  };
}

/** Closes both sides when one has ended and the other makes no progress. */
class HalfClosedWatch {
  private timer: NodeJS.Timeout | null = null;
  private moved = 0;
  private stillMillis = 0;

  constructor(
    private readonly client: Socket,
    private readonly connection: BackendConnection,
    private readonly limits: JoinLimits,
  ) {}

  begin(): void {
    if (this.timer !== null) return;
    const period = Math.min(this.limits.silentMillis, this.limits.unreadMillis);
    this.moved = this.movement();
    this.timer = setInterval(() => this.look(period), period).unref();
  }

  private look(period: number): void {
    const { client, connection, limits } = this;
    const { socket: backend } = connection;
    const moved = this.movement();
    this.stillMillis = moved === this.moved ? this.stillMillis + period : 0;
    this.moved = moved;
    // The kernel's buffer of a client that may still read isn't visible here.
    const mayBeRead = client.writableLength > 0 || connection.unsentBytes > 0 || ((backend.readableEnded || backend.destroyed) && !client.destroyed);
    if (this.stillMillis < (mayBeRead ? limits.unreadMillis : limits.silentMillis)) return;
    client.destroy();
    backend.destroy();
  }

  /** The bytes that each side accepted. The client's input after the runtime's end doesn't count, nor does discarded output. */
  private movement(): number {
    const { client, connection } = this;
    const { socket: backend } = connection;
    return client.bytesWritten - client.writableLength + (client.destroyed ? 0 : backend.bytesRead) + backend.bytesWritten - backend.writableLength;
  }

  end(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }
}
