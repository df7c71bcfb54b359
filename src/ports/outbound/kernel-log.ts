// The kernel's log, record by record, from the oldest one available.
// Invariant: records come in order of `sequence`; the batch has `lost` if some were overwritten before they were read.
import type { Micros } from '../micros.js';

export interface KernelLogRecord {
  /** 0 (emergency) to 7 (debug). */
  readonly level: number;
  /** syslog facility; 0 is the kernel itself. */
  readonly facility: number;
  readonly sequence: number;
  /** Since boot. */
  readonly sinceBootMicros: Micros;
  /** One line, without its dictionary. Control characters, backslashes and bytes above 126 are `\xNN`, as the kernel writes them: a process's name can't fake a line. */
  readonly text: string;
}

export interface KernelLogBatch {
  readonly records: readonly KernelLogRecord[];
  /** Records before or between these were overwritten unread. */
  readonly lost: boolean;
  /** Why there will be no further batch; null while the log is followed. */
  readonly ended: string | null;
}

export type KernelLogListener = (batch: KernelLogBatch) => void;

export interface KernelLog {
  /**
   * Starts reading. Once only. `fromOldest` false: only records written after this call.
   * Errors: not-found, permission-denied (user namespace, container without the device), failed-precondition (a second call, after close).
   */
  follow(fromOldest: boolean, listener: KernelLogListener): void;
  /** Idempotent; no batch afterwards. */
  close(): void;
}
