// The back-off of a failed volume operation: 0.5 s, doubling to 2 min 2 s.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import { nextPause } from '../backoff/doubled-pause.js';
import { formatGoDuration } from '../values/go-duration.js';
import { instantAfter } from '../values/instant.js';
import { formatRfc3339 } from '../values/time.js';
import type { VolumeBackoff, VolumeManager, VolumeOperationKind } from './volume-manager-state.js';

const firstDelay: Micros = 500_000;
const longestDelay: Micros = 122_000_000;

/**
 * Unmounts for several pods have separate back-offs, and so has expansion, which one pod may need while another one's mount fails: with a shared back-off each
 * would clear the other's, and both would be retried without delay.
 */
export function backoffKey(volumeName: string, kind: VolumeOperationKind, uid: string): string {
  if (kind === 'unmount') return `${volumeName} ${uid}`;
  return kind === 'expand' ? `${volumeName} expand` : volumeName;
}

export function operationFailed(manager: VolumeManager, key: string, kind: VolumeOperationKind, err: string, now: Micros): VolumeBackoff {
  const before = manager.backoffs.get(key);
  const delay = nextPause(before?.kind === kind ? before.delay : 0, firstDelay, longestDelay);
  const backoff = { kind, retryAt: now + delay, delay, err };
  manager.backoffs.set(key, backoff);
  return backoff;
}

/** In the form of the reference's log. */
export function backoffText(volumeName: string, { delay }: VolumeBackoff, message: string, wall: Instant): string {
  const until = `No retries permitted until ${formatRfc3339(instantAfter(wall, delay))} (durationBeforeRetry ${formatGoDuration(delay)}).`;
  return `Operation for ${JSON.stringify(volumeName)} failed. ${until} Error: ${message}`;
}
