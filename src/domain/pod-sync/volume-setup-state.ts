// The volumes of a pod that are being made ready, as data.
import type { Micros } from '../../ports/micros.js';
import type { Volume } from '../../ports/model/volume.js';
import type { VolumeContent } from '../../ports/outbound/pod-volumes.js';
import type { HostPathCheck } from '../volumes/host-path-type.js';

const firstRetry: Micros = 500_000;

export interface VolumeSetup {
  /** Volumes that aren't ready, the one that is worked on first; null: not begun. */
  pending: Volume[] | null;
  /** Those that failed this time round. */
  failed: Volume[];
  phase: 'setUp' | 'make' | 'read' | 'write';
  make: Extract<HostPathCheck, { kind: 'make-directory' | 'create-file' }> | null;
  content: VolumeContent | null;
  startedAt: Micros;
  retryAt: Micros | null;
  retryAfter: Micros;
}

export function newVolumeSetup(): VolumeSetup {
  return { pending: null, failed: [], phase: 'setUp', make: null, content: null, startedAt: 0, retryAt: null, retryAfter: firstRetry };
}
