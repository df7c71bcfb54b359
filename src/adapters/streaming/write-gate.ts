// When bytes may be written to a server that may have closed: not while it may have left unread output, since the kernel drops that
// output as soon as anything is written to a closed connection (peer-state).
// Invariant: the kernel's table is read only while output is in flight or blocked, and a result is valid for `seenOpenMillis`.
import type { Socket } from 'node:net';
import { localPeerState } from './peer-state.js';

/** After this long without output, all of the server's output has been read. */
const settledMillis = 1_000;
const seenOpenMillis = 50;

export class WriteGate {
  /** Whether output waits for its reader, where the socket itself does not show it by being paused. */
  isHeldUp = false;
  private isOver = false;
  private lastReadMillis = Number.NEGATIVE_INFINITY;
  private seenOpenUntil = Number.NEGATIVE_INFINITY;
  private isLooking = false;

  /** @param opened what waited may be written now */
  constructor(
    private readonly socket: Socket,
    private readonly opened: () => void,
  ) {
    const over = (): void => {
      this.isOver = true;
      this.opened();
    };
    socket.once('end', over).once('close', over);
  }

  /** Output came. */
  received(): void {
    this.lastReadMillis = performance.now();
  }

  get isOpen(): boolean {
    if (this.isOver) return true;
    const now = performance.now();
    const isHeldUp = this.isHeldUp || this.socket.readableFlowing === false;
    return now < this.seenOpenUntil || !(isHeldUp || now - this.lastReadMillis < settledMillis);
  }

  /** Has `opened` called once it is open: soon, or when the server's output has ended. */
  look(): void {
    if (this.isLooking) return;
    this.isLooking = true;
    void localPeerState(this.socket).then((state) => {
      this.isLooking = false;
      if (state === 'closed' && !this.isOver) return;
      this.seenOpenUntil = performance.now() + seenOpenMillis;
      this.opened();
    });
  }
}
