// A binary heap ordered by (time, sequence). Times and sequence numbers live in typed arrays: no object per comparison.
import type { Micros } from '../../ports/micros.js';

export interface TimedValue<T> {
  readonly at: Micros;
  readonly sequence: number;
  readonly value: T;
}

export class TimeHeap<T> {
  private times = new Float64Array(64);
  private sequences = new Float64Array(64);
  private readonly values: T[] = [];
  private nextSequence = 1;

  get size(): number {
    return this.values.length;
  }

  /** Returns the sequence number given to the entry; later pushes get larger ones. */
  push(at: Micros, value: T): number {
    const n = this.values.length;
    if (n === this.times.length) this.grow();
    const sequence = this.nextSequence++;
    this.values.push(value);
    let i = n;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.times[parent]! <= at) break; // an equal time was pushed earlier: it stays in front
      this.move(parent, i);
      i = parent;
    }
    this.place(i, at, sequence, value);
    return sequence;
  }

  /** The time of the first entry; Infinity when empty. */
  get firstAt(): Micros {
    return this.values.length === 0 ? Number.POSITIVE_INFINITY : this.times[0]!;
  }

  /** The first entry's value, and its sequence number; undefined and NaN when empty. Reading them makes no object, as `peek` does. */
  get firstValue(): T | undefined {
    return this.values[0];
  }

  get firstSequence(): number {
    return this.values.length === 0 ? Number.NaN : this.sequences[0]!;
  }

  peek(): TimedValue<T> | null {
    if (this.values.length === 0) return null;
    return { at: this.times[0]!, sequence: this.sequences[0]!, value: this.values[0]! };
  }

  pop(): TimedValue<T> | null {
    const top = this.peek();
    this.drop();
    return top;
  }

  /** Removes the first entry; nothing when empty. */
  drop(): void {
    if (this.values.length === 0) return;
    const n = this.values.length - 1;
    const at = this.times[n]!;
    const sequence = this.sequences[n]!;
    const value = this.values.pop()!;
    if (n > 0) this.sink(at, sequence, value, n);
  }

  /** The entries in heap order: for counting and listing, not for order. */
  contents(): readonly T[] {
    return this.values;
  }

  /** The entries in the order in which they come out. */
  entries(): TimedValue<T>[] {
    const entries = this.values.map((value, i) => ({ at: this.times[i]!, sequence: this.sequences[i]!, value }));
    return entries.sort((a, b) => a.at - b.at || a.sequence - b.sequence);
  }

  private sink(at: Micros, sequence: number, value: T, n: number): void {
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= n) break;
      if (child + 1 < n && this.before(child + 1, this.times[child]!, this.sequences[child]!)) child++;
      if (!this.before(child, at, sequence)) break;
      this.move(child, i);
      i = child;
    }
    this.place(i, at, sequence, value);
  }

  private before(i: number, at: Micros, sequence: number): boolean {
    const time = this.times[i]!;
    return time < at || (time === at && this.sequences[i]! < sequence);
  }

  private move(from: number, to: number): void {
    this.place(to, this.times[from]!, this.sequences[from]!, this.values[from]!);
  }

  private place(i: number, at: Micros, sequence: number, value: T): void {
    this.times[i] = at;
    this.sequences[i] = sequence;
    this.values[i] = value;
  }

  private grow(): void {
    const times = new Float64Array(this.times.length * 2);
    const sequences = new Float64Array(this.sequences.length * 2);
    times.set(this.times);
    sequences.set(this.sequences);
    this.times = times;
    this.sequences = sequences;
  }
}
