// The next wake-up of each address: at most one time an address, the earliest first, ties in request order.
// A replaced or withdrawn time stays in the heap until it surfaces or until stale entries outnumber live ones (then the heap is rebuilt),
// so setting a time costs O(log n) and the heap never holds more than twice the live entries.
import type { Micros } from '../../ports/micros.js';
import { TimeHeap } from './time-heap.js';

export class WakeQueue {
  private heap = new TimeHeap<string>();
  /** address text -> sequence number of the entry that counts, and its time */
  private readonly live = new Map<string, { sequence: number; at: Micros }>();

  set(address: string, at: Micros | null): void {
    const known = this.live.get(address);
    if (at === null) {
      if (known !== undefined) this.live.delete(address);
      return;
    }
    if (known !== undefined && known.at === at) return;
    const sequence = this.heap.push(at, address);
    if (known === undefined) this.live.set(address, { sequence, at });
    else {
      known.sequence = sequence;
      known.at = at;
    }
    if (this.heap.size > 64 && this.heap.size > 2 * this.live.size) this.rebuild();
  }

  at(address: string): Micros | null {
    return this.live.get(address)?.at ?? null;
  }

  /** The earliest time that counts, or null. */
  nextAt(): Micros | null {
    for (;;) {
      const address = this.heap.firstValue;
      if (address === undefined) return null;
      if (this.live.get(address)?.sequence === this.heap.firstSequence) return this.heap.firstAt;
      this.heap.drop();
    }
  }

  /** Takes the earliest address whose time is not after `now`, or null. */
  takeDue(now: Micros): string | null {
    const at = this.nextAt();
    if (at === null || at > now) return null;
    const address = this.heap.firstValue;
    if (address === undefined) return null;
    this.heap.drop();
    this.live.delete(address);
    return address;
  }

  get size(): number {
    return this.live.size;
  }

  /** The live entries in order, as data. */
  entries(): [string, Micros][] {
    return [...this.live].sort((a, b) => a[1].at - b[1].at || a[1].sequence - b[1].sequence).map(([address, { at }]) => [address, at]);
  }

  private rebuild(): void {
    const entries = this.entries();
    this.heap = new TimeHeap<string>();
    for (const [address, at] of entries) this.live.set(address, { sequence: this.heap.push(at, address), at });
  }
}
