// The daemon's clock: the wall clock's time, carried on by the monotonic clock, since a machine's time must never go back.
// When the wall clock jumps ahead (it was set, or the host slept) this one follows; when it is set back, this one goes on and says so.
// Invariant: no answer is smaller than the one before.

import { instantOf } from '../../domain/values/instant.js';
import { microsPerMillisecond, microsPerSecond } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';

/** Less than this between the clocks is slewing and rounding, not a jump. */
export const clockJumpMin: Micros = microsPerSecond;

/** The wall clock moved against the monotonic one. */
export interface ClockStep {
  /** `forward` was followed; `back` was not: from now on the clock is ahead of the wall clock. */
  readonly direction: 'forward' | 'back';
  readonly by: Micros;
}

export interface ClockSources {
  /** Since the epoch, in milliseconds. */
  wallMillis(): number;
  /** Since any moment, in milliseconds with fractions; never goes back. */
  monotonicMillis(): number;
}

export const hostClockSources: ClockSources = { wallMillis: () => Date.now(), monotonicMillis: () => performance.now() };

export class WallAnchoredClock {
  /** Wall time minus monotonic time. */
  private offset: Micros;
  private last: Micros = 0;
  /** How far the wall clock is behind, as far as it was reported. */
  private reportedBehind: Micros = 0;

  constructor(
    private readonly report: (step: ClockStep) => void,
    private readonly sources: ClockSources = hostClockSources,
  ) {
    this.offset = this.wallMicros() - this.monotonic();
  }

  now(): Micros {
    const ahead = this.wallMicros() - (this.monotonic() + this.offset);
    if (ahead > clockJumpMin) {
      this.offset += ahead;
      this.reportedBehind = 0;
      this.report({ direction: 'forward', by: ahead });
    } else if (-ahead - this.reportedBehind > clockJumpMin) {
      const by = -ahead - this.reportedBehind;
      this.reportedBehind = -ahead;
      this.report({ direction: 'back', by });
    } else if (-ahead < this.reportedBehind) {
      // It is catching up: a second step back is told from where it is now.
      this.reportedBehind = Math.max(0, -ahead);
    }
    this.last = Math.max(this.last, this.monotonic() + this.offset);
    return this.last;
  }

  /** What the host's wall clock shows, whatever it was set to. */
  wall(): Instant {
    return instantOf(this.wallMicros());
  }

  private wallMicros(): Micros {
    return Math.round(this.sources.wallMillis() * microsPerMillisecond);
  }

  private monotonic(): Micros {
    return Math.floor(this.sources.monotonicMillis() * microsPerMillisecond);
  }
}
