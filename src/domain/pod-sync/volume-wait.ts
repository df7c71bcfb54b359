// A run's wait for volumes, as data.
import type { Micros } from '../../ports/micros.js';

export interface VolumeWait {
  /** When the wait began; null: not yet. */
  since: Micros | null;
}

export function newVolumeWait(): VolumeWait {
  return { since: null };
}
