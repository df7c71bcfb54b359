// How long a reflector waits after a failure: client-go's figures, which servers are used to.
import type { Micros } from '../../ports/micros.js';
import { nextPause } from '../backoff/doubled-pause.js';

export interface ReflectorBackoff {
  /** The last delay without its spread; 0: none yet. */
  base: Micros;
  /** Its last start; null: never. */
  at: Micros | null;
}

const initial: Micros = 800_000;
const longest: Micros = 30_000_000;
/** After this long without a failure the back-off is reset. */
const forgivenAfter: Micros = 120_000_000;

/** The next delay, uniform between its base and twice that. @param random in [0, 1) */
export function nextReflectorDelay(backoff: ReflectorBackoff, now: Micros, random: number): Micros {
  const fresh = backoff.at === null || now - backoff.at > forgivenAfter;
  backoff.base = nextPause(fresh ? 0 : backoff.base, initial, longest);
  backoff.at = now;
  return Math.floor(backoff.base * (1 + random));
}
