// Retries requests to an apiserver after transient failures: five tries in all, 500 ms apart and half as long again each time, with a
// fifth of that at random (spec/config-and-api.md, 9.1 and 9.3).
import { setTimeout as delay } from 'node:timers/promises';
import { PortError, type PortErrorKind } from '../../../ports/port-error.js';

const passing: ReadonlySet<PortErrorKind> = new Set(['unavailable', 'internal', 'resource-exhausted', 'deadline-exceeded']);
const tries = 5;

export interface RetryTimes {
  readonly firstMillis: number;
  readonly factor: number;
}
export const usualRetries: RetryTimes = { firstMillis: 500, factor: 1.5 };

export async function withRetries<T>(times: RetryTimes, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  let wait = times.firstMillis;
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === tries || signal.aborted || !(error instanceof PortError) || !passing.has(error.kind)) throw error;
      const requestedMillis = error.retryAfterMicros === null ? 0 : error.retryAfterMicros / 1000;
      await delay(Math.max(requestedMillis, wait * (1 + 0.2 * Math.random())), undefined, { signal });
      wait *= times.factor;
    }
  }
}
