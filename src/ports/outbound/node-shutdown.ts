// The shutdown of the whole node, as its init says of it: a lock by which init waits for us, and what is kept of the last one.
// Signals come as events, `shutdown-signal`; that some may have been missed is `shutdown-signals-lost`: the lock is gone then, and has to be taken anew.
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
   * Takes the lock, in place of one that is held, and listens for signals from before it is asked for. Init is told to wait for as long as is needed, where
   * it would wait for less. Answers with whether the node is going down already, in which case there may be no lock. Idempotent.
   * Errors: unavailable (no init that speaks of shutdowns), permission-denied, failed-precondition (init will not wait for so long).
   */
  readonly inhibit: Operation<{ readonly neededSeconds: number }, { readonly shuttingDown: boolean }>;
  /** Lets the lock go: init goes on. None is held: succeeds. */
  readonly release: Operation<null, null>;
  /** The text of what is kept of the last shutdown; null: nothing is. */
  readonly readRecord: Operation<null, string | null>;
  /** Keeps the text in place of the one before; on the disk when it answers. */
  readonly writeRecord: Operation<{ readonly text: string }, null>;
}
