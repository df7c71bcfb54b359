// The volumes of a pod that are being made ready, as data.
import type { Micros } from '../../ports/micros.js';
import type { Volume } from '../../ports/model/volume.js';
import type { VolumeContent } from '../../ports/outbound/pod-volumes.js';
import type { HostPathCheck } from '../volumes/host-path-type.js';
import type { VolumePayload } from '../volumes/volume-payload.js';

const firstRetry: Micros = 500_000;

export interface VolumeSetup {
  /** Volumes that aren't ready, the one that is worked on first; null: not begun. */
  pending: Volume[] | null;
  /** Those that failed this time round. */
  failed: Volume[];
  phase: 'setUp' | 'make' | 'read' | 'write';
  make: Extract<HostPathCheck, { kind: 'make-directory' | 'create-file' }> | null;
  content: VolumeContent | null;
  /** When the one that is worked on was begun; null: not yet. */
  since: Micros | null;
  /** What it is to show, once that is collected. */
  payload: VolumePayload | null;
  /** Only volumes that show data of the API: the others have been made already. */
  readonly isRefresh: boolean;
  /** Some volumes go on to show what they did. */
  outdated: boolean;
  startedAt: Micros;
  retryAt: Micros | null;
  retryAfter: Micros;
}

export function newVolumeSetup(isRefresh = false): VolumeSetup {
  const work = { phase: 'setUp', make: null, content: null, since: null, payload: null } as const;
  return { ...work, pending: null, failed: [], isRefresh, outdated: false, startedAt: 0, retryAt: null, retryAfter: firstRetry };
}
