// Files on disk for a CSI volume: the directory around the driver's mount, and in it `vol_data.json`, by which a restarted
// kubelet recognizes the volume. The place is the mount; the file is beside it.
// Invariants: removes only an empty directory and the file, and nothing while something is mounted at the place.
import type { Operation } from '../operation.js';
import type { VolumePlace } from './volume-mounts.js';

/** A data file of a volume that is staged, or of a raw block volume. */
export interface StagedCsiVolume {
  readonly data: string;
  readonly isDevice: boolean;
}

/** Errors: not-found (the pod has no directory), invalid-argument, permission-denied, failed-precondition, resource-exhausted. */
export interface CsiFileOperations {
  /** The directory above the place (0750) and the file in it, replaced as a whole and on disk when this answers. `makesPlace`: the place too. Idempotent. */
  readonly prepare: Operation<{ readonly place: VolumePlace; readonly makesPlace: boolean; readonly data: string | null }, null>;
  /** null if the file is absent; 64 KiB at most. */
  readonly read: Operation<{ readonly place: VolumePlace }, string | null>;
  /** Data files of staged volumes (`plugins/kubernetes.io/csi/<driver>/<hash>`) and of block volumes, unordered; omits unreadable files. */
  readonly staged: Operation<null, readonly StagedCsiVolume[]>;
  /**
   * The place, the file, and the directory above. `mounted`: nothing was done, since something is mounted there. Absent: succeeds.
   * Errors: failed-precondition when anything else is in a directory.
   */
  readonly remove: Operation<{ readonly place: VolumePlace }, 'removed' | 'mounted'>;
  /** The places of a raw block volume below `plugins/kubernetes.io/csi/volumeDevices`: `<volume>/data` with the file, `staging/<volume>`, `publish/<volume>`. Idempotent. */
  readonly prepareDevice: Operation<{ readonly volume: string; readonly data: string }, null>;
  /** The same places, and the empty `<volume>/dev`. `mounted`: nothing was done. Absent: succeeds. Errors: failed-precondition when anything else is in one. */
  readonly removeDevice: Operation<{ readonly volume: string }, 'removed' | 'mounted'>;
}
