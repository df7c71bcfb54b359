// Writes frames to a connection's socket; if its server may have closed with unread output, only once a WriteGate is open.
// Invariant: frames keep their order; frames that wait when the connection closes are dropped.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WriteGate } from './write-gate.js';

export class FrameWriter {
  private readonly gate: WriteGate | null;
  private readonly waiting: Buffer[] = [];
  /** Of the monotonic clock, milliseconds. */
  private receivedAt = performance.now();

  /** @param guarded the socket of a server that may close with unread output @param drained called when writes have been accepted */
  constructor(
    private readonly socket: Duplex,
    guarded: Socket | undefined,
    private readonly drained: () => void,
  ) {
    this.gate = guarded === undefined ? null : new WriteGate(guarded, () => this.opened());
    socket.on('drain', drained);
  }

  /** Output of the server came. */
  received(): void {
    this.receivedAt = performance.now();
    this.gate?.received();
  }

  /** Since the last output. */
  get silentMillis(): number {
    return performance.now() - this.receivedAt;
  }

  /** False: wait for `drained`. A socket whose half was closed by the peer drops the bytes, which is no error for the writer. */
  put(bytes: Buffer): boolean {
    if (!this.socket.writable) return true;
    if (this.gate === null || (this.waiting.length === 0 && this.gate.isOpen)) return this.socket.write(bytes);
    this.waiting.push(bytes);
    this.gate.look();
    return false;
  }

  /** Writes the last frame and drops waiting ones. */
  last(bytes: Buffer): void {
    this.waiting.length = 0;
    if (this.socket.writable) this.socket.write(bytes);
  }

  private opened(): void {
    for (const bytes of this.waiting.splice(0)) if (this.socket.writable) this.socket.write(bytes);
    if (!this.socket.writableNeedDrain) this.drained();
  }
}
