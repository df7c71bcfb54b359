// Caches answers for a while, for questions that many may ask at once: one question per key is in progress, other callers wait for it.
// Invariants: failures are never cached; at most `most` answers are, and the least recently used one is dropped first; the number of questions in
// progress is limited.
import { PortError } from '../../../ports/port-error.js';

export interface KeptAnswer<Value> {
  readonly value: Value;
  /** How long it holds; 0: it isn't kept. */
  readonly holdsMillis: number;
}

export class KeptAnswers<Value> {
  private readonly kept = new Map<string, { readonly value: Value; readonly until: number }>();
  private readonly asking = new Map<string, Promise<Value>>();

  constructor(
    private readonly most: number,
    private readonly nowMillis: () => number,
    private readonly askingMax: number,
  ) {}

  get size(): number {
    return this.kept.size;
  }

  /** Errors: those of `ask`; resource-exhausted if too many questions are in progress. */
  async get(key: string, ask: () => Promise<KeptAnswer<Value>>): Promise<Value> {
    const known = this.kept.get(key);
    if (known !== undefined) {
      this.kept.delete(key);
      if (known.until > this.nowMillis()) {
        this.kept.set(key, known);
        return known.value;
      }
    }
    const underWay = this.asking.get(key);
    if (underWay !== undefined) return underWay;
    if (this.asking.size >= this.askingMax)
      throw new PortError({ kind: 'resource-exhausted', message: `${this.askingMax} questions are under way`, operation: 'apiWriter.create', subject: '' });
    return this.ask(key, ask);
  }

  private ask(key: string, ask: () => Promise<KeptAnswer<Value>>): Promise<Value> {
    const asked = ask().then(({ value, holdsMillis }) => {
      if (holdsMillis > 0) this.keep(key, value, holdsMillis);
      return value;
    });
    this.asking.set(key, asked);
    const done = () => void this.asking.delete(key);
    asked.then(done, done);
    return asked;
  }

  private keep(key: string, value: Value, holdsMillis: number): void {
    this.kept.set(key, { value, until: this.nowMillis() + holdsMillis });
    const oldest = this.kept.keys().next();
    if (this.kept.size > this.most && oldest.done !== true) this.kept.delete(oldest.value);
  }
}
