// The clock of the mock servers: real time, or real time made faster. Invariant: it never goes back, whatever the wall clock does.
import { microsPerMillisecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';

/** setTimeout takes no more than this; what is further away is looked at again then. */
const longestTimerMs = 2_147_483_647;

export class RealTime {
  private readonly startMicros = Date.now() * microsPerMillisecond;
  private readonly startedMs = performance.now();
  private readonly timers = new Set<NodeJS.Timeout>();

  /** `speed` is how many seconds go by on it in a second. */
  constructor(private readonly speed: number) {}

  now(): Micros {
    return this.startMicros + Math.floor((performance.now() - this.startedMs) * microsPerMillisecond * this.speed);
  }

  /** Calls once that much of its time has gone by (at once for 0), unless `stop` comes first. Returns how to withdraw it. */
  after(micros: Micros, call: () => void): () => void {
    if (micros <= 0) {
      call();
      return () => {};
    }
    const timer = setTimeout(
      () => {
        this.timers.delete(timer);
        call();
      },
      Math.min(Math.ceil(micros / microsPerMillisecond / this.speed), longestTimerMs),
    );
    this.timers.add(timer);
    return () => {
      clearTimeout(timer);
      this.timers.delete(timer);
    };
  }

  stop(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }
}
