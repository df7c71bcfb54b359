// Changes of files and directories, as hints: whoever watches a directory lists it when told so, and lists it anyway at long intervals.
// Invariant: an entry that changed is reported, or `lost` is. Nothing is dropped silently.

/**
 * `created` also stands for moved here, `deleted` for moved away, `modified` for data and attributes alike.
 * `opened`: the watched file itself was opened by someone (only with the interest `opened`).
 */
export type FileChange = 'created' | 'modified' | 'deleted' | 'opened';

export type FileWatchEvent =
  /** `name` is the entry of the watched directory `path`, or empty for the watched object itself. */
  | { readonly kind: 'entry'; readonly path: string; readonly name: string; readonly change: FileChange }
  /** The watched object was deleted, moved away or unmounted. The watch has ended; add it again when the path is back. */
  | { readonly kind: 'gone'; readonly path: string }
  /** Events were dropped, for any of the watched paths: list them all. */
  | { readonly kind: 'lost' }
  /** The whole watch failed and is closed. */
  | { readonly kind: 'failed'; readonly message: string };

/** Called with one batch at a time, in the order of the kernel; never from within `add`, `remove` or `close`, never after `close`. */
export type FileWatchListener = (events: readonly FileWatchEvent[]) => void;

/** `changes`: of a file, or of the entries of a directory, not deeper. `opened`: of a file, when someone opens it. */
export type FileWatchInterest = 'changes' | 'opened';

export interface FileWatch {
  /**
   * Watches a path. Idempotent, and asked of the system anew each time: the path may lead to another object by now. Changes after it returns are reported.
   * Errors: not-found, permission-denied, resource-exhausted (too many watches), unimplemented (`opened` without the addon), failed-precondition after close.
   */
  add(path: string, interest: FileWatchInterest): void;
  /** Stops watching a path; one that isn't watched is success. */
  remove(path: string): void;
  /** Idempotent; releases everything. */
  close(): void;
}
