// Volumes on the node itself: directories of a pod with their tmpfs, payloads written into them, host paths, and leftovers of volumes.
// The domain decides the steps and their order; an adapter performs single steps.
import type { Operation } from '../operation.js';

/** `pods/<uid>/volumes/<plugin>/<volume>` below the kubelet's root. Each is one file name. */
export interface VolumeAddress {
  readonly uid: string;
  /** With `/` replaced by `~`. */
  readonly plugin: string;
  readonly volume: string;
  /** Name of the marker directory of a volume that is set up: `plugins/kubernetes.io~empty-dir/<marker>` of the pod. */
  readonly marker: string;
}

export interface VolumeSetUp extends VolumeAddress {
  /** Exactly this mode, independent of the process's umask. */
  readonly mode: number;
  /** The directory's group; null: unchanged. */
  readonly gid: number | null;
  /** Kept in memory, with at most this many bytes (0: as the kernel limits it); null: on the root's file system. */
  readonly tmpfs: { readonly sizeBytes: number } | null;
  /** Kept in huge pages of this size (`2Mi`); null: not. With it `tmpfs` is null. */
  readonly hugePages: { readonly pageSize: string } | null;
}

/** An entry at the top of a volume directory, links not followed. */
export type VolumeEntry = { readonly kind: 'file' | 'directory' | 'other' } | { readonly kind: 'symlink'; readonly target: string };

/** What reading a payload path gave. `message` as the operating system words it. */
export type PayloadReading = { readonly kind: 'file'; readonly bytes: Uint8Array } | { readonly kind: 'absent' } | { readonly kind: 'failed'; readonly message: string };

export interface VolumeContent {
  /** By name, unordered. */
  readonly entries: readonly (readonly [name: string, entry: VolumeEntry])[];
  /** Every path below the directory that `..data` names; null without such a directory. */
  readonly generationPaths: readonly string[] | null;
  /** Of the requested paths, in their order. */
  readonly readings: readonly (readonly [path: string, reading: PayloadReading])[];
}

/** One file operation; paths are relative to the volume directory. */
export type PayloadStep =
  | { readonly operation: 'make-directory'; readonly path: string; readonly mode: number }
  /** A new file, never through a link. */
  | { readonly operation: 'write-file'; readonly path: string; readonly bytes: Uint8Array; readonly mode: number }
  /** Of a link itself, not its target. */
  | { readonly operation: 'change-owner'; readonly path: string; readonly uid: number }
  /** Everything below the volume directory and then itself: the group, and these bits added to the modes. Links get the group alone. */
  | { readonly operation: 'apply-fs-group'; readonly gid: number; readonly fileBits: number; readonly directoryBits: number }
  | { readonly operation: 'make-symlink'; readonly path: string; readonly target: string }
  | { readonly operation: 'rename'; readonly from: string; readonly to: string }
  /** Absent: succeeds. */
  | { readonly operation: 'remove-link'; readonly path: string }
  /** Follows no link and crosses no mount point. Absent: succeeds. */
  | { readonly operation: 'remove-tree'; readonly path: string };

export interface PayloadWrite extends VolumeAddress {
  readonly steps: readonly PayloadStep[];
  /** Index of the step that makes the payload visible; when it or one before fails, `undo` is carried out. */
  readonly switchAt: number;
  readonly undo: readonly PayloadStep[];
}

export interface LeftVolume {
  /** It is in `volumeDevices`: a raw device. */
  readonly isDevice: boolean;
  readonly plugin: string;
  readonly volume: string;
  /** The content of a CSI volume's `vol_data.json`, at most 64 KiB; null if the file is absent or another plugin's. */
  readonly data: string | null;
}

export interface VolumeLeftovers {
  /** Directories `volumes/<plugin>/<volume>` and links `volumeDevices/<plugin>/<volume>`, each sorted. */
  readonly volumes: readonly LeftVolume[];
  /** The content of `volume-subpaths`, by volume, sorted. */
  readonly subPaths: readonly ({ readonly volume: string } & SubPathsOfVolume)[];
}

/** `volume-subpaths/<volume>/<container>/<index>` of a pod, for one volume. */
export interface SubPathsOfVolume {
  readonly containers: readonly { readonly name: string; readonly isDirectory: boolean; readonly entries: readonly { readonly name: string; readonly isMounted: boolean }[] }[];
}

/** The entry at a path, without following links. `other`: a pipe, socket or device. */
export type PathEntry = { readonly kind: 'directory' | 'file' | 'other' | 'absent' } | { readonly kind: 'symlink'; readonly target: string };

export type SubPathStep =
  /** A new directory of exactly this mode. `root` and everything down to the parent is opened without following links; an existing entry is an error. */
  | { readonly operation: 'make-directory'; readonly root: string; readonly path: string; readonly mode: number }
  /** Also creates parents; leaves existing directories and any other entry at `path` unchanged. */
  | { readonly operation: 'ensure-directory'; readonly path: string; readonly mode: number }
  /** Makes an empty file if absent; an existing directory is an error. */
  | { readonly operation: 'ensure-file'; readonly path: string; readonly mode: number }
  | { readonly operation: 'unmount'; readonly path: string }
  /** Opens `source` below `root` without following links, and binds that descriptor: a link that appears in the meantime makes it fail. */
  | { readonly operation: 'bind'; readonly root: string; readonly source: string; readonly target: string }
  /** A file or an empty directory; anything else is an error. */
  | { readonly operation: 'remove'; readonly path: string }
  /** A directory, unless something is in it. */
  | { readonly operation: 'remove-if-empty'; readonly path: string };

/** Parts of volumes, bound below the pod's own directory. Paths are absolute; all but volumes' own are refused outside of `pods/<uid>/volume-subpaths`. */
export interface SubPathOperations {
  /** With the permission bits of the link's target; 0 if absent. */
  readonly look: Operation<{ readonly path: string }, { readonly entry: PathEntry; readonly mode: number }>;
  /** Compares the mount at the target with the source: none, another file, the same one. */
  readonly compare: Operation<{ readonly source: string; readonly target: string }, 'none' | 'other-file' | 'same-file'>;
  /** Stops at the first step that fails. Binding needs root: `permission-denied`. */
  readonly carryOut: Operation<{ readonly uid: string; readonly steps: readonly SubPathStep[] }, null>;
}

/** One call a volume at a time. Errors: not-found (the pod has no directory), invalid-argument, permission-denied, failed-precondition, resource-exhausted. */
export interface PodVolumeOperations {
  /** Makes the directory, mounts its tmpfs, marks it. Idempotent: a complete marked volume stays unchanged. */
  readonly setUp: Operation<VolumeSetUp, null>;
  readonly read: Operation<VolumeAddress & { readonly paths: readonly string[] }, VolumeContent>;
  /**
   * Whole files within volumes, each by a path relative to its volume; links are followed as long as they stay within. Null for one that is absent, no
   * regular file, leads out, or is too large.
   */
  readonly readFiles: Operation<{ readonly files: readonly (VolumeAddress & { readonly path: string })[] }, { readonly contents: readonly (Uint8Array | null)[] }>;
  /** Stops at the first step that fails. */
  readonly write: Operation<PayloadWrite, null>;
  /**
   * Removes the mark, unmounts the volume's own tmpfs, removes its content. Never through another mount: `failed-precondition` while
   * something else is mounted in it. Succeeds if absent.
   */
  readonly tearDown: Operation<VolumeAddress, null>;
  /** The volumes on disk of a pod, whether this agent or an earlier one made them. Empty for a pod without a directory. */
  readonly list: Operation<{ readonly uid: string }, VolumeLeftovers>;
}

/** The type after following links. An unreachable path counts as absent. */
export type HostPathKind = 'absent' | 'directory' | 'file' | 'socket' | 'char-device' | 'block-device' | 'other';

/** Paths of the host that pods name: any path, since a user who may write such a pod is trusted with the host. */
export interface HostPathOperations {
  readonly inspect: Operation<{ readonly path: string }, HostPathKind>;
  /** A directory with its parents, or an empty file without its parents. An existing entry stays. */
  readonly make: Operation<{ readonly path: string; readonly kind: 'directory' | 'file'; readonly mode: number }, null>;
}
