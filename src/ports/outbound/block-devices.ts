// Raw block devices for pods' containers: below `plugins`, in a directory of each volume, a file per pod on which the device is bind-mounted and which a loop
// device holds open, so that the device can't vanish and its number can't be reused meanwhile; in the pod's directory a link to the device.
// Invariants: nothing outside of `<root>/plugins` and `<root>/pods/<uid>/volumeDevices` is made or removed, and a device is never opened for writing.
import type { Operation } from '../operation.js';

export interface BlockMap {
  readonly uid: string;
  /** With `/` replaced by `~`. */
  readonly plugin: string;
  readonly volume: string;
  /** The directory of the volume's files for all pods, below `plugins`; each element is one file name. */
  readonly directory: readonly string[];
}

/** Errors: not-found (the device, or the pod's directory), invalid-argument, permission-denied, failed-precondition (no block device; in use), unavailable. */
export interface BlockDeviceOperations {
  /** `device`: absolute, links in it are followed. Idempotent; another device than before takes its place. */
  readonly map: Operation<BlockMap & { readonly device: string }, null>;
  /** Makes only the link, whose target doesn't exist yet: it marks for a later agent that the pod may have the volume. Idempotent; an existing link stays. */
  readonly mark: Operation<BlockMap & { readonly device: string }, null>;
  /** Runs every step. `keepsLink`: removes all but the link. Succeeds if absent. */
  readonly unmap: Operation<BlockMap & { readonly keepsLink: boolean }, null>;
  /** Uids of the pods that have a file in the directory, sorted. */
  readonly users: Operation<{ readonly directory: readonly string[] }, readonly string[]>;
}
