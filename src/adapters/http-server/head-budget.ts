// Limits the total size of incomplete request heads on all connections. These clients aren't authenticated yet, so any client of the port
// could fill the memory with large heads on many connections.
// Invariant: beyond the budget, the longest heads are cut, so that ordinary clients come last; nothing is checked
// while there are too few connections to reach it.
import type { Socket } from 'node:net';

const lookMillis = 250;

export class HeadBudget {
  /** Connections that wait for a head, and their received bytes when that began. */
  private readonly waiting = new Map<Socket, number>();
  private readonly known = new WeakSet<Socket>();
  private readonly connectionsUnseen: number;
  private looking: NodeJS.Timeout | null = null;

  /** @param headBytesMax of one head, which is enforced elsewhere */
  constructor(
    private readonly bytesMax: number,
    headBytesMax: number,
  ) {
    this.connectionsUnseen = Math.floor(bytesMax / headBytesMax);
  }

  /** The connection waits for a head from now on. */
  begin(socket: Socket): void {
    if (!this.known.has(socket)) socket.once('close', () => this.end(socket));
    this.known.add(socket);
    this.waiting.set(socket, socket.bytesRead);
    if (this.looking === null && this.waiting.size > this.connectionsUnseen) this.looking = setInterval(() => this.look(), lookMillis).unref();
  }

  end(socket: Socket): void {
    this.waiting.delete(socket);
  }

  private look(): void {
    const heads = [...this.waiting].map(([socket, from]) => ({ socket, bytes: socket.bytesRead - from }));
    let sum = heads.reduce((total, { bytes }) => total + bytes, 0);
    if (sum > this.bytesMax) {
      for (const { socket, bytes } of heads.sort((a, b) => b.bytes - a.bytes)) {
        if (sum <= this.bytesMax) break;
        sum -= bytes;
        socket.destroy();
      }
    }
    if (this.waiting.size > this.connectionsUnseen || this.looking === null) return;
    clearInterval(this.looking);
    this.looking = null;
  }
}
