// The clock of the mock servers: real time, or accelerated real time. Invariant: it never runs backwards, even if the wall clock does.
import { microsPerMillisecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';

/** setTimeout's maximum; a later time is checked again then. */
const longestTimerMs = 2_147_483_647;

export class RealTime {
  private readonly startMicros = Date.now() * microsPerMillisecond;
  private readonly startedMs = performance.now();
  private readonly timers = new Set<NodeJS.Timeout>();

  /** `speed` is the number of its seconds per real second. */
  constructor(private readonly speed: number) {}

  now(): Micros {
    return this.startMicros + Math.floor((performance.now() - this.startedMs) * microsPerMillisecond * this.speed);
  }

  /** Calls after that much of its time (at once for 0), unless `stop` comes first. Returns a function that cancels it. */
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
