// Node shutdown as init reports it: an inhibitor lock that delays init, and the record of the last shutdown.
// Signals arrive as events, `shutdown-signal`. `shutdown-signals-lost` means that some may have been missed: the lock is gone and must be taken again.
import type { Operation } from '../operation.js';

/** The node is about to go down, or stays up after all. */
export interface ShutdownSignal {
  readonly type: 'shutdown-signal';
  readonly active: boolean;
}

export interface ShutdownSignalsLost {
  readonly type: 'shutdown-signals-lost';
}

export interface NodeShutdownOperations {
  /**
   * Takes the lock, in place of a held one, after it starts to listen for signals. Raises init's maximum delay if that is shorter than needed.
   * Answers whether the node is shutting down already, in which case there may be no lock. Idempotent.
   * Errors: unavailable (init doesn't support inhibitor locks), permission-denied, failed-precondition (init refuses so long a delay).
   */
  readonly inhibit: Operation<{ readonly neededSeconds: number }, { readonly shuttingDown: boolean }>;
  /** Releases the lock, so that init continues. Succeeds without a lock, too. */
  readonly release: Operation<null, null>;
  /** The text of the last shutdown's record; null if none was kept. */
  readonly readRecord: Operation<null, string | null>;
  /** Keeps the text in place of the one before; on the disk when it answers. */
  readonly writeRecord: Operation<{ readonly text: string }, null>;
}
