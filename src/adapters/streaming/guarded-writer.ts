// The writing side of a socket whose server may close with output that was not read yet: a write waits for a WriteGate.
// Invariant: writes keep their order; what waits when the socket closes is dropped.
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { WriteGate } from './write-gate.js';

export class GuardedWriter extends Writable {
  private readonly gate: WriteGate;
  private bytes: Buffer | null = null;
  private done: ((error?: Error | null) => void) | null = null;

  constructor(private readonly socket: Socket) {
    super();
    this.on('error', () => {});
    this.gate = new WriteGate(socket, () => this.opened());
    socket.on('data', () => this.gate.received());
    socket.once('close', () => this.destroy());
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.bytes = chunk;
    this.done = done;
    if (this.gate.isOpen) this.opened();
    else this.gate.look();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.end();
    done();
  }

  private opened(): void {
    const { bytes, done } = this;
    this.bytes = null;
    this.done = null;
    if (bytes === null || done === null) return;
    if (this.socket.writable) this.socket.write(bytes, done);
    else done();
  }
}
