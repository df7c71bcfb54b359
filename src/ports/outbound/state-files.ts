// Small files in the kubelet's root directory that record allocations, from which the next agent (this one or the Go kubelet) resumes.
// Both operations may be requested at any time; writes run in request order.
import type { Operation } from '../operation.js';

export interface StateFileOperations {
  /** The file's text; null if absent. Errors: permission-denied (no regular file), resource-exhausted (too large). */
  readonly read: Operation<{ readonly name: string }, string | null>;
  /** Replaces the file whole: a reader finds the old text or the new one, also after a power loss. On the disk when it answers. Idempotent. */
  readonly write: Operation<{ readonly name: string; readonly text: string }, null>;
}
