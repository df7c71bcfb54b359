// Queues ended spans and sends them in batches, one batch at a time.
//
// | quantity                               | limit                                | when it is reached                     |
// |----------------------------------------|--------------------------------------|----------------------------------------|
// | queued spans                           | 2048                                 | a further one is dropped, and counted  |
// | spans of one batch                     | 512                                  | the rest is in the next batch          |
// | delay of a span for batching           | 5 s                                  | the batch is sent as it is             |
// | one attempt to send a batch            | 10 s                                 | it has failed                          |
// | tries of a batch, 5 s doubling to 30 s | 60 s from the first                  | its spans are dropped, and counted     |
//
// Invariants: adding a span never waits and never throws; no timer runs without spans; the process isn't kept alive.
import type { FinishedSpan } from './span.js';

export type SendOutcome =
  /** `rejected` of the spans were not taken, for the reason. */
  | { readonly kind: 'sent'; readonly rejected: number; readonly reason: string }
  /** It may go well another time. */
  | { readonly kind: 'later'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string };

export interface SpanBatchesOptions {
  /** Never rejects. */
  send(spans: readonly FinishedSpan[], timeoutMillis: number): Promise<SendOutcome>;
  /** Called when sending begins to fail, and when it succeeds again (null). */
  trouble(reason: string | null): void;
  readonly limits?: Partial<SpanBatchLimits>;
}

export interface SpanBatchLimits {
  readonly waitingMax: number;
  readonly batchMax: number;
  readonly delayMillis: number;
  readonly attemptMillis: number;
  readonly retryMillis: number;
  readonly retryMillisMax: number;
  readonly triesMillis: number;
}

/** Those of Go's library. */
export const defaultBatchLimits: SpanBatchLimits = {
  waitingMax: 2048,
  batchMax: 512,
  delayMillis: 5_000,
  attemptMillis: 10_000,
  retryMillis: 5_000,
  retryMillisMax: 30_000,
  triesMillis: 60_000,
};

export class SpanBatches {
  private readonly waiting: FinishedSpan[] = [];
  private readonly limits: SpanBatchLimits;
  private timer: NodeJS.Timeout | null = null;
  private isDue = false;
  private sending: Promise<void> | null = null;
  private isTroubled = false;
  private isClosed = false;
  private wakeRetry: (() => void) | null = null;
  /** Spans that never reached the collector, since the start. */
  dropped = 0;
  /** Spans that the collector has taken. */
  sent = 0;

  constructor(private readonly options: SpanBatchesOptions) {
    this.limits = { ...defaultBatchLimits, ...options.limits };
  }

  /** Queued spans, without those of the batch in progress. */
  get length(): number {
    return this.waiting.length;
  }

  add(span: FinishedSpan): void {
    const { waitingMax, batchMax, delayMillis } = this.limits;
    if (this.isClosed || this.waiting.length >= waitingMax) {
      this.dropped++;
      return;
    }
    this.waiting.push(span);
    if (this.waiting.length >= batchMax) this.go();
    else this.timer ??= setTimeout(() => this.go(), delayMillis).unref();
  }

  /** Sends queued spans, with one try for each batch, within that time; drops the rest. Accepts no more spans. */
  async close(graceMillis: number): Promise<void> {
    this.isClosed = true;
    await this.flush(graceMillis);
    this.dropped += this.waiting.length;
    this.waiting.length = 0;
  }

  /** Sends what waits; at most so long is waited for it. */
  async flush(graceMillis: number): Promise<void> {
    const end = performance.now() + graceMillis;
    this.wakeRetry?.();
    this.go();
    let timer: NodeJS.Timeout | null = null;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMillis);
    });
    while (this.sending !== null && performance.now() < end) await Promise.race([this.sending, late]);
    if (timer !== null) clearTimeout(timer);
  }

  private go(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.isDue = true;
    if (this.sending !== null || this.waiting.length === 0) return;
    this.sending = this.sendDue().finally(() => {
      this.sending = null;
      // Those that came at the very end.
      if (this.waiting.length >= this.limits.batchMax) this.go();
      else if (this.waiting.length > 0) this.timer ??= setTimeout(() => this.go(), this.limits.delayMillis).unref();
    });
  }

  private async sendDue(): Promise<void> {
    while (this.waiting.length > 0 && (this.isDue || this.isClosed || this.waiting.length >= this.limits.batchMax)) {
      const batch = this.waiting.splice(0, this.limits.batchMax);
      if (this.waiting.length === 0) this.isDue = false;
      await this.sendBatch(batch);
    }
  }

  private async sendBatch(batch: readonly FinishedSpan[]): Promise<void> {
    const { attemptMillis, retryMillis, retryMillisMax, triesMillis } = this.limits;
    const begun = performance.now();
    for (let pause = retryMillis; ; pause = Math.min(retryMillisMax, pause * 2)) {
      const outcome = await this.options.send(batch, attemptMillis);
      if (outcome.kind === 'sent') {
        this.dropped += outcome.rejected;
        this.sent += batch.length - outcome.rejected;
        this.report(outcome.rejected > 0 ? outcome.reason : null);
        return;
      }
      this.report(outcome.reason);
      if (outcome.kind === 'refused' || this.isClosed || performance.now() - begun + pause > triesMillis) break;
      await this.rest(pause);
    }
    this.dropped += batch.length;
  }

  private rest(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.wakeRetry = null;
        resolve();
      };
      const timer = setTimeout(done, millis).unref();
      this.wakeRetry = done;
    });
  }

  private report(reason: string | null): void {
    if (reason === null && !this.isTroubled) return;
    if (reason !== null && this.isTroubled) return;
    this.isTroubled = reason !== null;
    this.options.trouble(reason);
  }
}
