// Mounts in pods' volumes and in the node's own places for volumes, and the ownership of the files in them. A file system that no longer
// answers blocks only the calls about it: no call touches another volume, and mounts are read from the kernel's table.
// Invariants: nothing outside of `<root>/pods/<uid>/volumes` and `<root>/plugins` is made, mounted or removed; a directory is removed
// only if it is empty and nothing is mounted on it.
import type { Micros } from '../micros.js';
import type { Operation } from '../operation.js';
import type { LeftVolume } from './pod-volumes.js';

/** Each element is one file name. */
export type VolumePlace =
  /** `pods/<uid>/volumes/<plugin>/<volume>`, and `/<inner>` where the volume is mounted beside other things of the plugin's. */
  | { readonly kind: 'pod'; readonly uid: string; readonly plugin: string; readonly volume: string; readonly inner: string | null }
  /** Below `plugins`: once for all pods of the node. */
  | { readonly kind: 'node'; readonly elements: readonly string[] };

export type VolumeMountSource =
  /** A directory or file of the host. Follows links in the path: a user who may name it is trusted with the host. */
  | { readonly kind: 'bind'; readonly path: string; readonly options: readonly string[] }
  | { readonly kind: 'fileSystem'; readonly fsType: string; readonly source: string; readonly options: readonly string[] }
  /** By the mount helper `mount.<fsType>`, with an argument list, never by a shell. */
  | { readonly kind: 'helper'; readonly fsType: string; readonly source: string; readonly options: readonly string[] };

export interface VolumeOwnership {
  readonly gid: number;
  /** Added to the modes of files, and of directories. */
  readonly fileBits: number;
  readonly directoryBits: number;
  /** Skips the walk if the root has the group and all its bits: an earlier walk has completed. */
  readonly onRootMismatch: boolean;
}

export interface FoundPodVolumes {
  readonly uid: string;
  /** `volumes/<plugin>/<volume>`, sorted; only a CSI volume's data file is read. */
  readonly volumes: readonly LeftVolume[];
}

/** One call a place at a time. Errors: not-found (the pod has no directory), invalid-argument, permission-denied, failed-precondition, unavailable, deadline-exceeded. */
export interface VolumeMountOperations {
  /** Makes the directory (0750) and mounts on it. Idempotent: an existing mount stays. A failed mount removes a directory that it made. */
  readonly mount: Operation<{ readonly place: VolumePlace; readonly source: VolumeMountSource }, 'mounted' | 'present'>;
  /**
   * Unmounts the place, and removes the empty directory. With `forceAfter` a server that has not answered by then is
   * abandoned. Succeeds if absent. Errors: failed-precondition if the directory isn't empty, or has a mount below it.
   */
  readonly unmount: Operation<{ readonly place: VolumePlace; readonly forceAfter: Micros | null }, null>;
  /**
   * Whose the volume is, everything below its root first and the root last. Follows no link. What vanishes or can't be changed is counted, and
   * is no failure. May take long. `gid`: the root's before.
   */
  readonly setOwnership: Operation<
    { readonly place: VolumePlace; readonly ownership: VolumeOwnership },
    { readonly walked: boolean; readonly gid: number; readonly failures: number }
  >;
  /** The number of files that a running `setOwnership` of the place has processed; null if none runs. Answers at once, even while the file system blocks. */
  readonly ownershipProgress: Operation<{ readonly place: VolumePlace }, number | null>;
  /** Other mount points of pods that show the same mount, sorted; and the group of the mount, null if unknown. */
  readonly references: Operation<{ readonly place: VolumePlace }, { readonly mountPoints: readonly string[]; readonly gid: number | null }>;
  /** Whether files of the mount have SELinux labels of their own that can be changed (`seclabel`). Errors: not-found. */
  readonly hasLabels: Operation<{ readonly place: VolumePlace }, boolean>;
  /** What earlier agents have left in pods' directories; sorted by uid. */
  readonly survey: Operation<null, readonly FoundPodVolumes[]>;
}
