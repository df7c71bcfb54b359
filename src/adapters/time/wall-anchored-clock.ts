// The daemon's two clocks. `now` is CLOCK_MONOTONIC, as for the Go kubelet's timers: it is never set, and stops while the host sleeps. It begins
// at the wall clock's time of the process start, and is independent of the wall clock from then on. `wall` is the wall clock, for timestamps.
// Invariant: `now` never decreases, even if the wall clock is set back.
import { instantOf } from '../../domain/values/instant.js';
import { microsPerMillisecond, microsPerSecond } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';

/** Less than this between the clocks is slewing and rounding, not a step. */
export const clockJumpMin: Micros = microsPerSecond;

/** The wall clock moved against the monotonic one: it was set, or the host slept. */
export interface ClockStep {
  readonly direction: 'forward' | 'back';
  readonly by: Micros;
}

export interface ClockSources {
  /** Since the epoch, in milliseconds. */
  wallMillis(): number;
  /** Since the boot of the host, in milliseconds with fractions: CLOCK_MONOTONIC. */
  monotonicMillis(): number;
}

/** CLOCK_MONOTONIC when `performance.now()` was 0; both read the same clock. */
const processStartMillis = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export const hostClockSources: ClockSources = { wallMillis: () => Date.now(), monotonicMillis: () => processStartMillis + performance.now() };

export class WallAnchoredClock {
  /** The reading of `now` when the host was booted: the same moment for every process, each with a `now` of its own. */
  readonly bootedAt: Micros;
  private last: Micros = 0;
  /** The last reported offset of the wall clock from `now`. */
  private reportedAhead: Micros = 0;

  constructor(
    private readonly report: (step: ClockStep) => void,
    private readonly sources: ClockSources = hostClockSources,
  ) {
    this.bootedAt = this.wallMicros() - this.monotonic();
  }

  now(): Micros {
    this.last = Math.max(this.last, this.monotonic() + this.bootedAt);
    return this.last;
  }

  /** The host's wall clock as it is set. Reports a step once. */
  wall(): Instant {
    const wall = this.wallMicros();
    const by = wall - this.now() - this.reportedAhead;
    if (Math.abs(by) > clockJumpMin) {
      this.reportedAhead += by;
      this.report({ direction: by > 0 ? 'forward' : 'back', by: Math.abs(by) });
    }
    return instantOf(wall);
  }

  private wallMicros(): Micros {
    return Math.round(this.sources.wallMillis() * microsPerMillisecond);
  }

  private monotonic(): Micros {
    return Math.floor(this.sources.monotonicMillis() * microsPerMillisecond);
  }
}
