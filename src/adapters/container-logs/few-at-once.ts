// Lets few of many do something at the same time. What comes back from Node's threads in one turn of the event loop is worked on in that turn: a
// thousand followers of logs that all look at their files would hold it up, some dozens do not.
// Invariant: whoever comes first is first; a place is given back whatever way the operation ends.

export class FewAtOnce {
  private readonly waiting: (() => void)[] = [];
  private busy = 0;

  constructor(private readonly most: number) {}

  /** Resolves or rejects as the operation does, which is begun when there is a place. */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.busy < this.most) this.busy++;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await operation();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.busy--;
      else next();
    }
  }
}
