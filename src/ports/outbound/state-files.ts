// Small files in the kubelet's root directory that say what was given to whom, for the next agent (of whatever make) to go on from.
// Both operations may be asked at any time; writes are done in the order they were asked for.
import type { Operation } from '../operation.js';

export interface StateFileOperations {
  /** The file's text; null: there is none. Errors: permission-denied (no regular file), resource-exhausted (too large). */
  readonly read: Operation<{ readonly name: string }, string | null>;
  /** Replaces the file whole: a reader finds the old text or the new one, also after a power loss. On the disk when it answers. Idempotent. */
  readonly write: Operation<{ readonly name: string; readonly text: string }, null>;
}
