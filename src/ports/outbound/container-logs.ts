// Rotation of the logs that running containers write. The runtime writes them, and opens a new file on request
// (`containers.reopenLog`); the agent moves, compresses and removes files.
//
// A log is named by its path, `<podLogsDir>/<pod>/<container>/<N>.log`. Its rotated files are in the same directory; their names begin with
// its name and a dot. The adapter refuses any other name.
import type { Operation } from '../operation.js';

export interface ContainerLogOperations {
  /** The size of each log in bytes, in the order of `paths`; null for one that isn't there. Idempotent. */
  readonly measure: Operation<{ readonly paths: readonly string[] }, { readonly sizeBytes: readonly (number | null)[] }>;
  /** The rotated files of a log, and the host's offset from UTC, since rotated files are named in local time. Absent: no names. */
  readonly listRotated: Operation<{ readonly path: string }, { readonly names: readonly string[]; readonly utcOffsetSeconds: number }>;
  /** Removes rotated files. All are tried; absent is removed. */
  readonly discard: Operation<{ readonly path: string; readonly names: readonly string[] }, null>;
  /** Compresses `name` to `name.gz`, through `name.tmp`; `not-found` if the file is absent. A failure or a cancellation leaves the file unchanged. */
  readonly compress: Operation<{ readonly path: string; readonly name: string }, null>;
  /** Moves the log aside to a rotated name, or back. Replaces nothing: `already-exists`; nothing to move: `not-found`. */
  readonly rename: Operation<{ readonly path: string; readonly name: string; readonly direction: 'aside' | 'back' }, null>;
  /** Removes partly compressed files of a killed agent, of all logs. Only while no compression runs. Returns their number. */
  readonly removeUnfinished: Operation<null, number>;
}
