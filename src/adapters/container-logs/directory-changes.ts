// Notifies any number of readers of changes in directories, over one watch: the kernel limits watches per user, and a thousand
// log followers must not use them up. A failed watch costs only latency.
// Invariants: a change between two waits of a reader ends its second wait at once; a directory without waiting readers is not watched; when a
// change wakes many readers, each turn of the event loop wakes some of them, first come first served.
import type { FileWatch, FileWatchEvent, FileWatchListener } from '../../ports/outbound/file-watch.js';
import { TurnsInOrder } from './turns-in-order.js';

/** A watch that fails more often is not set up again. */
const failuresMax = 5;
/** Readers that are woken in one turn of the event loop. */
const wakesMax = 32;

export class DirectoryWatches {
  private watch: FileWatch | null = null;
  private failures = 0;
  private readonly readers = new Map<string, Set<DirectoryChanges>>();
  private readonly wakes = new TurnsInOrder(wakesMax);

  /** @param open null: without a watch, readers poll */
  constructor(private readonly open: ((listener: FileWatchListener) => FileWatch) | null) {}

  /** To be closed. */
  changesOf(path: string): DirectoryChanges {
    const changes = new DirectoryChanges(this, path);
    const others = this.readers.get(path);
    if (others === undefined) this.readers.set(path, new Set([changes]));
    else others.add(changes);
    changes.isWatched = this.add(path);
    return changes;
  }

  forget(changes: DirectoryChanges): void {
    const others = this.readers.get(changes.path);
    others?.delete(changes);
    if (others?.size !== 0) return;
    this.readers.delete(changes.path);
    this.watch?.remove(changes.path);
    if (this.readers.size > 0) return;
    this.watch?.close();
    this.watch = null;
  }

  /** Watches a path, again if need be. False: it can't be. */
  add(path: string): boolean {
    if (this.open === null || this.failures >= failuresMax) return false;
    try {
      this.watch ??= this.open((events) => this.saw(events));
    } catch {
      this.failures++;
      return false;
    }
    try {
      this.watch.add(path, 'changes');
      return true;
    } catch {
      // The directory is gone, or there are too many watches: others may still have theirs.
      return false;
    }
  }

  private saw(events: readonly FileWatchEvent[]): void {
    for (const event of events) {
      if (event.kind === 'lost') for (const readers of this.readers.values()) for (const reader of readers) reader.happened(true);
      else if (event.kind === 'failed') this.failed();
      else for (const reader of this.readers.get(event.path) ?? []) reader.happened(event.kind !== 'gone');
    }
  }

  wakeSoon(reader: DirectoryChanges): void {
    if (reader.isToBeWoken) return;
    reader.isToBeWoken = true;
    this.wakes.call(() => reader.wakeUp());
  }

  private failed(): void {
    this.failures++;
    this.watch?.close();
    this.watch = null;
    for (const readers of this.readers.values()) for (const reader of readers) reader.happened(false);
  }
}

/** One reader's view of a directory. */
export class DirectoryChanges {
  /** Whether changes are reported; otherwise the reader must poll. */
  isWatched = false;
  /** Of the watches. */
  isToBeWoken = false;
  private changed = false;
  private wake: (() => void) | null = null;
  private signal: AbortSignal | null = null;
  private readonly aborted = (): void => this.wake?.();
  private timer: NodeJS.Timeout | null = null;
  private timerMillis = 0;

  constructor(
    private readonly watches: DirectoryWatches,
    readonly path: string,
  ) {}

  /** Resolves at the next change with true, after `millis` or when the signal is aborted with false. */
  async next(millis: number, signal: AbortSignal): Promise<boolean> {
    if (!this.isWatched) this.isWatched = this.watches.add(this.path);
    if (!this.changed && !signal.aborted) {
      this.listenTo(signal);
      this.startTimer(millis);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    const changed = this.changed;
    this.wake = null;
    this.changed = false;
    return changed;
  }

  /** One listener for all waits: a follower waits once for each change. */
  private listenTo(signal: AbortSignal): void {
    if (this.signal === signal) return;
    this.signal?.removeEventListener('abort', this.aborted);
    this.signal = signal;
    signal.addEventListener('abort', this.aborted);
  }

  /** One timer for all waits. Readers that began to wait together would all be woken in one turn. */
  private startTimer(millis: number): void {
    if (this.timer !== null && this.timerMillis === millis) {
      this.timer.refresh();
      return;
    }
    if (this.timer !== null) clearTimeout(this.timer);
    this.timerMillis = millis;
    this.timer = setTimeout(() => this.watches.wakeSoon(this), millis);
  }

  happened(isWatched: boolean): void {
    this.isWatched = isWatched;
    if (this.wake !== null) this.watches.wakeSoon(this);
    this.changed = true;
  }

  wakeUp(): void {
    this.isToBeWoken = false;
    this.wake?.();
  }

  close(): void {
    this.watches.forget(this);
    this.signal?.removeEventListener('abort', this.aborted);
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.wake?.();
  }
}
