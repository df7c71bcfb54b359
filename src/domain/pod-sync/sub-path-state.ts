// The sub paths of one container that are being bound, as data.
import type { PathEntry } from '../../ports/outbound/pod-volumes.js';
import type { TargetMount } from '../volumes/sub-path.js';
import type { SubPathUse } from '../volumes/sub-path-mounts.js';

export interface SubPathPreparation {
  /** The remaining ones, the current one first; null: not begun. */
  pending: SubPathUse[] | null;
  phase: 'present' | 'directory' | 'mount';
  /** Entries that were checked. */
  known: Map<string, PathEntry>;
  lookedAt: string;
  /** The mode of the volume's root. */
  rootMode: number | null;
  mounted: TargetMount | null;
  /** By index of the volume mount: the path for the runtime. */
  readonly targets: Record<number, string>;
}

export function newSubPathPreparation(): SubPathPreparation {
  return { pending: null, phase: 'present', known: new Map(), lookedAt: '', rootMode: null, mounted: null, targets: {} };
}
