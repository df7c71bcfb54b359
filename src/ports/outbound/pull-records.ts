// Records on disk of image pulls (KEP-2535): intents of pulls in progress, and records of the credentials that images were pulled with.
// Below `<root>/image_manager`, one small file each; the domain defines the names and texts.
//
// Writes and removals run one after the other in request order; an answered write is on the disk.
import type { Operation } from '../operation.js';

/** The two directories. */
export type PullRecordKind = 'pulling' | 'pulled';

export interface PullRecordFile {
  readonly name: string;
  readonly text: string;
}

export interface PullRecordOperations {
  /** Every file of the kind, sorted by name; skips temporary files and invalid names. Idempotent. */
  readonly list: Operation<{ readonly kind: PullRecordKind }, readonly PullRecordFile[]>;
  /** null if absent. */
  readonly read: Operation<{ readonly kind: PullRecordKind; readonly name: string }, string | null>;
  /** Whole or not at all, also after a power loss. */
  readonly write: Operation<{ readonly kind: PullRecordKind } & PullRecordFile, null>;
  /** Absent: succeeds. */
  readonly remove: Operation<{ readonly kind: PullRecordKind; readonly name: string }, null>;
}
