// The state of the passes that remove what pods have left.
import type { Micros } from '../../../ports/micros.js';
import { newRetryPauses, type RetryPauses } from '../../backoff/retry-pauses.js';

/** The first pause after a failed removal; each further one doubles. */
const firstRetry: Micros = 2_000_000;
const longestRetry: Micros = 120_000_000;

export interface HousekeepingState {
  phase: 'idle' | 'snapshots' | 'running';
  cgroups: readonly { readonly uid: string; readonly name: readonly string[] }[] | null;
  directories: readonly string[] | null;
  /** Something changed that may leave something to clean up. */
  dirty: boolean;
  /** The time of a safety-net pass, even without known remains; null: nothing was removed since the last one. */
  passAt: Micros | null;
  /** Failed operations to retry: a pass (`pass`), or a removal of a pass (`cgroup/<uid>`, `directory/<uid>`). */
  readonly retries: RetryPauses;
  /** Pods whose workers are done and that their source has no more. */
  readonly ended: Set<string>;
  /** Orphaned pods whose volumes and directories the last pass was to remove. */
  orphansSeen: number;
  lastAt: Micros;
}

export function newHousekeeping(): HousekeepingState {
  return {
    phase: 'idle',
    cgroups: null,
    directories: null,
    dirty: true,
    passAt: null,
    retries: newRetryPauses(firstRetry, longestRetry),
    ended: new Set(),
    orphansSeen: 0,
    lastAt: 0,
  };
}
