// Limits how many of many waiters resume in each turn of the event loop: a thousand log followers woken together would block it.
// Invariant: first come, first served; a waiter waits only while the turn is full.

export class TurnsInOrder {
  private readonly waiting: (() => void)[] = [];
  /** In this turn. */
  private gone = 0;
  private isArmed = false;

  constructor(private readonly mostInTurn: number) {}

  /** null: continue at once. */
  next(): Promise<void> | null {
    if (this.waiting.length === 0 && this.gone < this.mostInTurn) {
      this.gone++;
      this.arm();
      return null;
    }
    return new Promise((resolve) => this.call(resolve));
  }

  /** In a later turn. */
  call(resume: () => void): void {
    this.waiting.push(resume);
    this.arm();
  }

  private arm(): void {
    if (this.isArmed) return;
    this.isArmed = true;
    setImmediate(() => {
      this.isArmed = false;
      const now = this.waiting.splice(0, this.mostInTurn);
      this.gone = now.length;
      // Otherwise the next caller would find this turn's places taken forever.
      if (now.length > 0) this.arm();
      for (const resume of now) resume();
    });
  }
}
