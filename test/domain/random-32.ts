// A stream of 32-bit numbers by its seed (xorshift32), quick enough for millions of texts.
// Invariant: the state is never 0, from which nothing else would follow.

export class Random32 {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0 || 1;
  }

  /** From 0 up, below `bound`. */
  below(bound: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % bound;
  }
}
