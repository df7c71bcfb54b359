// Changes of files and directories, as hints: a watcher lists its directory after a change, and anyway at long intervals.
// Invariant: an entry that changed is reported, or `lost` is. Nothing is dropped silently.

/**
 * `created` includes moved here, `deleted` includes moved away, `modified` covers data and attributes.
 * `opened`: a process opened the watched file itself (only with the interest `opened`).
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
   * Watches a path. Idempotent; each call resolves the path again, since it may lead to another object by now. Reports changes after it returns.
   * Errors: not-found, permission-denied, resource-exhausted (too many watches), unimplemented (`opened` without the addon), failed-precondition after close.
   */
  add(path: string, interest: FileWatchInterest): void;
  /** Stops watching a path; one that isn't watched is success. */
  remove(path: string): void;
  /** Idempotent; releases everything. */
  close(): void;
}
