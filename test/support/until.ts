// Waits of tests: for a condition, and for a condition that must hold all the time. Nothing waits so long unless it fails; a loaded machine needs
// several times what a test takes alone.
import { setTimeout as delay } from 'node:timers/promises';

export interface WaitLimits {
  /** After this long the wait fails; a minute when left out. */
  readonly boundMillis?: number;
  readonly pollMillis?: number;
}

const boundMillisOfWaits = 60_000;
const pollMillisOfWaits = 10;

/** Waits until it holds. @throws with `what` when it doesn't within the bound */
export async function until(what: string, holds: () => unknown, { boundMillis = boundMillisOfWaits, pollMillis = pollMillisOfWaits }: WaitLimits = {}): Promise<void> {
  const end = performance.now() + boundMillis;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${boundMillis} ms: ${what}`);
    await delay(pollMillis);
  }
}

/** For what must not happen: watches for so long that it holds. @throws with `what` as soon as it doesn't */
export async function holdsFor(what: string, millis: number, holds: () => unknown, pollMillis = 50): Promise<void> {
  const end = performance.now() + millis;
  do {
    if (!(await holds())) throw new Error(`no longer so: ${what}`);
    await delay(pollMillis);
  } while (performance.now() < end);
}
