// A client-side rate limit: a token bucket, filled at a steady rate. A request that finds it empty gets its place in the queue at once, which
// keeps the order; one that couldn't be served before its deadline is rejected without a wait.

/** Throws what `signal` was aborted with. */
export function sleep(millis: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, millis);
    signal.addEventListener('abort', abort, { once: true });
  });
}

export class RequestLimit {
  private tokens: number;
  private filledAt: number;

  /** @param now milliseconds that never go back */
  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.tokens = burst;
    this.filledAt = now();
  }

  /**
   * Takes a token, waiting for it. False: it would come later than `deadlineMillis` (on `now`'s scale), and none was taken.
   * Rejects with the signal's reason on an abort meanwhile, which returns the token.
   */
  async take(signal: AbortSignal, deadlineMillis: number): Promise<boolean> {
    const now = this.now();
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.filledAt) / 1000) * this.perSecond);
    this.filledAt = now;
    const wait = this.tokens >= 1 ? 0 : ((1 - this.tokens) / this.perSecond) * 1000;
    if (now + wait > deadlineMillis) return false;
    this.tokens -= 1;
    if (wait === 0) return true;
    try {
      await sleep(wait, signal);
    } catch (error) {
      this.tokens += 1;
      throw error;
    }
    return true;
  }
}
