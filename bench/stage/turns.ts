// How long single turns of this process's event loop take, by asking for one after the other: what waits between two is held up that long.
// Counted is the time that the main thread had a processor: the rest is a shared host's doing. The kernel counts it every 4 ms at the least, so a
// figure may be that much too high or too low. It keeps the processor busy, so nothing else is measured meanwhile.
import { openSync, readSync } from 'node:fs';

export interface Turns {
  /** Milliseconds of the longest since it was begun. */
  end(): number;
}

/** Of the main thread: nanoseconds on a processor come first (sched-stats.rst of the kernel). */
const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const buffer = Buffer.alloc(128);

function processorMillis(): number {
  return Number.parseInt(buffer.toString('latin1', 0, readSync(schedstat, buffer, 0, buffer.length, 0)), 10) / 1e6;
}

export function watchTurns(): Turns {
  let longest = 0;
  let last = processorMillis();
  let ended = false;
  const turn = (): void => {
    const now = processorMillis();
    longest = Math.max(longest, now - last);
    last = now;
    if (!ended) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    end() {
      ended = true;
      turn();
      return longest;
    },
  };
}
