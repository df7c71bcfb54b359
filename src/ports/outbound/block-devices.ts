// Raw block devices as pods' containers are given them: below `plugins`, in a directory of each volume, a file a pod that the device is bound to and a loop
// device holds open, so that the device can't vanish and its number be another's meanwhile; in the pod's directory a link to the device.
// Invariants: nothing outside of `<root>/plugins` and `<root>/pods/<uid>/volumeDevices` is made or removed, and a device is never opened for writing.
import type { Operation } from '../operation.js';

export interface BlockMap {
  readonly uid: string;
  /** With `~` for `/`. */
  readonly plugin: string;
  readonly volume: string;
  /** Of the files of all pods that have the volume, below `plugins`; each element is one file name. */
  readonly directory: readonly string[];
}

/** Errors: not-found (the device, or the pod's directory), invalid-argument, permission-denied, failed-precondition (no block device; in use), unavailable. */
export interface BlockDeviceOperations {
  /** `device`: absolute, links in it are followed. Idempotent; another device than before takes its place. */
  readonly map: Operation<BlockMap & { readonly device: string }, null>;
  /** The link alone, to what is not there yet: by it a later agent knows that the pod may have the volume. Idempotent; a link that is there stays. */
  readonly mark: Operation<BlockMap & { readonly device: string }, null>;
  /** Runs every step. `keepsLink`: all but the link goes. Absent: succeeds. */
  readonly unmap: Operation<BlockMap & { readonly keepsLink: boolean }, null>;
  /** Uids of the pods that have a file in the directory, sorted. */
  readonly users: Operation<{ readonly directory: readonly string[] }, readonly string[]>;
}
