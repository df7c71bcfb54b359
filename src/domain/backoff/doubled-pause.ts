// The pause after failures in a row: it doubles with each of them, up to a limit. For state that counts its failures; see retry-pauses.ts for one of
// many keys, keyed-backoff.ts for the kubelet's own table.

import type { Micros } from '../../ports/micros.js';
import { assert } from '../kernel/assert.js';

/** From here on each pause of a microsecond or more exceeds every limit, and the power stays exact. */
const doublingsMax = 40;

/** @param failures in a row before this one; 0: this is the first */
export function doubledPause(first: Micros, longest: Micros, failures: number): Micros {
  assert(failures >= 0, 'a pause after a negative number of failures', failures);
  return Math.min(first * 2 ** Math.min(failures, doublingsMax), longest);
}

/** The pause after the one before; the first after none (0). */
export function nextPause(before: Micros, first: Micros, longest: Micros): Micros {
  return before === 0 ? first : Math.min(2 * before, longest);
}
