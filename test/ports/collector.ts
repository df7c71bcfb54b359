// Collects a listener's events, with a way to wait for them without sleeping.
// Invariant: `until` checks everything collected so far at each event, and fails loudly if it never comes true.

const waitMsMax = 30_000;

export class Collector<T> {
  readonly all: T[] = [];
  #waiting: (() => void)[] = [];

  readonly push = (item: T): void => {
    this.all.push(item);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  };

  clear(): void {
    this.all.length = 0;
  }

  async until(what: string, predicate: (all: readonly T[]) => boolean): Promise<void> {
    const deadline = Date.now() + waitMsMax;
    while (!predicate(this.all)) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`never came: ${what}; got ${JSON.stringify(this.all.slice(-20), (_, value) => (typeof value === 'bigint' ? String(value) : value))}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }
}
