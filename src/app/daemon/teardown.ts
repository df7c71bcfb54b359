// The started parts, stopped in reverse order, each within a time limit of its own.
// Invariant: a part that hangs or fails costs its time limit and a log line, and never prevents the stop of the others.
import type { Logger } from '../../ports/outbound/logger.js';

interface Part {
  readonly name: string;
  readonly deadlineMillis: number;
  stop(): void | Promise<void>;
}

export class Teardown {
  private readonly parts: Part[] = [];

  constructor(private readonly logger: Logger) {}

  /** To be stopped before everything that was added so far. */
  add(name: string, stop: () => void | Promise<void>, deadlineMillis = 500): void {
    this.parts.push({ name, deadlineMillis, stop });
  }

  /** Stops everything; a second call stops parts added since. Never rejects. */
  async run(): Promise<void> {
    for (let part = this.parts.pop(); part !== undefined; part = this.parts.pop()) await this.stopOne(part);
  }

  private async stopOne(part: Part): Promise<void> {
    let timer: NodeJS.Timeout | null = null;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`not stopped after ${part.deadlineMillis} ms`)), part.deadlineMillis);
    });
    try {
      await Promise.race([Promise.resolve(part.stop()), late]);
    } catch (error) {
      this.logger.log('warn', 'Stopping failed', { part: part.name, err: error instanceof Error ? error.message : String(error) });
    } finally {
      if (timer !== null) clearTimeout(timer);
    }
  }
}
