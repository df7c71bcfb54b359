// One inotify instance: watch descriptors in, batches of events out, the queue's overflow included.
// Invariant: after `close` no batch is delivered and the descriptor is released; the process isn't kept alive unless `ref` was called.
import type { NativeBinding } from './binding.d.ts';
import { checked, closedError, errno, portErrorOf } from './errno.js';

/** inotify(7)'s bits that we use. */
export const inotifyMask = {
  modify: 0x2,
  attrib: 0x4,
  closeWrite: 0x8,
  open: 0x20,
  movedFrom: 0x40,
  movedTo: 0x80,
  create: 0x100,
  delete: 0x200,
  deleteSelf: 0x400,
  moveSelf: 0x800,
  unmount: 0x2000,
  ignored: 0x8000,
  onlyDirectory: 0x1000000,
  addToExisting: 0x20000000,
  isDirectory: 0x40000000,
} as const;

export interface InotifyEvent {
  readonly wd: number;
  readonly mask: number;
  /** Joins the two halves of a rename; 0 otherwise. */
  readonly cookie: number;
  /** The entry; empty for the watched object itself. Bytes that aren't UTF-8 come as U+FFFD. */
  readonly name: string;
}

export interface InotifyBatch {
  readonly events: readonly InotifyEvent[];
  /** Events were dropped after these: list everything that is watched. */
  readonly lost: boolean;
  /** Set when reading failed; the watcher is closed then. */
  readonly failure: Error | null;
}

export class InotifyWatcher {
  readonly #binding: NativeBinding;
  #handle: number | null;

  /** Error: resource-exhausted (fs.inotify.max_user_instances, descriptors). */
  constructor(binding: NativeBinding, onBatch: (batch: InotifyBatch) => void) {
    this.#binding = binding;
    const deliver = (records: Int32Array, names: string[], lost: boolean, status: number): void => {
      if (this.#handle === null) return;
      if (status < 0) this.#handle = null;
      onBatch({ events: eventsOf(records, names), lost, failure: status < 0 ? portErrorOf(status, 'inotify.read', '') : null });
    };
    this.#handle = checked(binding.inotifyOpen(deliver), 'inotify.open', '');
  }

  get closed(): boolean {
    return this.#handle === null;
  }

  /** The watch descriptor. A second watch of the same object has the same one. */
  addWatch(path: string, mask: number): number {
    return checked(this.#binding.inotifyAdd(this.#open('inotify.addWatch'), path, mask), 'inotify.addWatch', path);
  }

  /** A missing watch is success: the kernel removes a watch together with its object. */
  removeWatch(wd: number): void {
    const status = this.#binding.inotifyRemove(this.#open('inotify.removeWatch'), wd);
    if (status < 0 && status !== -errno.EINVAL) throw portErrorOf(status, 'inotify.removeWatch', String(wd));
  }

  /** Keeps the process alive from now on. */
  ref(): void {
    checked(this.#binding.watchKeepAlive(this.#open('inotify.ref'), true), 'inotify.ref', '');
  }

  unref(): void {
    checked(this.#binding.watchKeepAlive(this.#open('inotify.unref'), false), 'inotify.unref', '');
  }

  /** Idempotent. */
  close(): void {
    if (this.#handle === null) return;
    const handle = this.#handle;
    this.#handle = null;
    checked(this.#binding.watchClose(handle), 'inotify.close', '');
  }

  #open(operation: string): number {
    if (this.#handle === null) throw closedError(operation);
    return this.#handle;
  }
}

function eventsOf(records: Int32Array, names: readonly string[]): InotifyEvent[] {
  return names.map((name, index) => ({
    wd: records[index * 3]!,
    // The bits come as a signed number.
    mask: records[index * 3 + 1]! >>> 0,
    cookie: records[index * 3 + 2]! >>> 0,
    name,
  }));
}
