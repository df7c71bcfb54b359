// Reads hundreds of small kernel files (cgroup, /proc, /sys) in one call. A path is registered once and read by its slot from then on.
// Invariants: a failure affects only its item; a path's current file is read, also after it was removed and made again.
import type { PortErrorKind } from '../../ports/port-error.js';
import type { FileBatchNumbers, NumberForm } from './number-form.js';

/** The result of one read; `index` is the position in the requested slots. */
export interface FileBatchContent {
  readonly count: number;
  /** null when the item failed. A view: valid until the next `read` of the same reader. */
  bytes(index: number): Uint8Array | null;
  /** As UTF-8; null if the item failed. */
  text(index: number): string | null;
  /** null when the item was read; `not-found` for a missing file and for a slot that isn't registered. */
  failure(index: number): PortErrorKind | null;
  /** The file has more than `itemBytesMax` bytes; only its beginning was read. */
  truncated(index: number): boolean;
}

export interface FileBatchReader {
  /** A slot for a path, which need not exist yet. A slot is used again after `remove`. */
  add(path: string): number;
  /** A slot for the numbers of a path, for `numbersInBackground` alone. */
  addNumbers(path: string, form: NumberForm): number;
  /** Not-found is success. */
  remove(slot: number): void;
  /** Reads at once, on the calling thread. Meant for files that never wait: cgroup, /proc, /sys. */
  read(slots: readonly number[] | Int32Array): FileBatchContent;
  /** The same away from the calling thread. Error: resource-exhausted when too many reads are outstanding. */
  readInBackground(slots: readonly number[] | Int32Array): Promise<FileBatchContent>;
  /** The numbers of slots that were added with a form, away from the calling thread. Errors: as `readInBackground`. */
  numbersInBackground(slots: readonly number[] | Int32Array): Promise<FileBatchNumbers>;
  /** Descriptors kept open now; never above the bound given at construction. */
  openDescriptors(): number;
  /** Idempotent. Every other operation fails with failed-precondition afterwards. */
  close(): void;
}
