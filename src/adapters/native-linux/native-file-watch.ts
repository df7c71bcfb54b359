// FileWatch on inotify.
// Invariant: a path is in `#watches` exactly while events of its watch descriptor are delivered for it; an ended watch is reported as `gone` once.
import type { FileChange, FileWatch, FileWatchEvent, FileWatchInterest, FileWatchListener } from '../../ports/outbound/file-watch.js';
import type { NativeBinding } from './binding.d.ts';
import { closedError } from './errno.js';
import { type InotifyBatch, type InotifyEvent, InotifyWatcher, inotifyMask } from './inotify-watcher.js';

const changeMask = inotifyMask.create | inotifyMask.movedTo | inotifyMask.modify | inotifyMask.attrib | inotifyMask.closeWrite | inotifyMask.delete | inotifyMask.movedFrom;
const goneMask = inotifyMask.deleteSelf | inotifyMask.moveSelf | inotifyMask.unmount;
const maskOf: Readonly<Record<FileWatchInterest, number>> = { changes: changeMask | goneMask, opened: inotifyMask.open | goneMask };

/** First match wins; an event carries one of these bits. */
const changes: readonly (readonly [mask: number, change: FileChange, interest: FileWatchInterest])[] = [
  [inotifyMask.create | inotifyMask.movedTo, 'created', 'changes'],
  [inotifyMask.modify | inotifyMask.attrib | inotifyMask.closeWrite, 'modified', 'changes'],
  [inotifyMask.delete | inotifyMask.movedFrom, 'deleted', 'changes'],
  [inotifyMask.open, 'opened', 'opened'],
];

interface PathWatch {
  wd: number;
  readonly interests: Set<FileWatchInterest>;
}

export class NativeFileWatch implements FileWatch {
  readonly #inotify: InotifyWatcher;
  readonly #listener: FileWatchListener;
  readonly #watches = new Map<string, PathWatch>();
  /** Several paths may lead to one object, which the kernel watches once. */
  readonly #pathsByWd = new Map<number, Set<string>>();

  constructor(binding: NativeBinding, listener: FileWatchListener) {
    this.#listener = listener;
    this.#inotify = new InotifyWatcher(binding, (batch) => this.#onBatch(batch));
  }

  add(path: string, interest: FileWatchInterest): void {
    if (this.#inotify.closed) throw closedError('FileWatch.add');
    // Adds the watch in the kernel each time, also for a known path: it may lead to another object by now.
    const wd = this.#inotify.addWatch(path, maskOf[interest] | inotifyMask.addToExisting);
    const known = this.#watches.get(path);
    if (known !== undefined && known.wd !== wd) this.#forget(path, true);
    const watch = this.#watches.get(path) ?? { wd, interests: new Set() };
    watch.interests.add(interest);
    this.#watches.set(path, watch);
    const paths = this.#pathsByWd.get(wd) ?? new Set();
    paths.add(path);
    this.#pathsByWd.set(wd, paths);
  }

  remove(path: string): void {
    if (!this.#inotify.closed) this.#forget(path, true);
  }

  close(): void {
    this.#inotify.close();
    this.#watches.clear();
    this.#pathsByWd.clear();
  }

  #forget(path: string, removeFromKernel: boolean): void {
    const watch = this.#watches.get(path);
    if (watch === undefined) return;
    this.#watches.delete(path);
    const paths = this.#pathsByWd.get(watch.wd)!;
    paths.delete(path);
    if (paths.size > 0) return;
    this.#pathsByWd.delete(watch.wd);
    if (removeFromKernel) this.#inotify.removeWatch(watch.wd);
  }

  #onBatch(batch: InotifyBatch): void {
    const events: FileWatchEvent[] = [];
    for (const event of batch.events) this.#translate(event, events);
    if (batch.lost) events.push({ kind: 'lost' });
    if (batch.failure !== null) {
      events.push({ kind: 'failed', message: batch.failure.message });
      this.#watches.clear();
      this.#pathsByWd.clear();
    }
    if (events.length > 0) this.#listener(events);
  }

  #translate(event: InotifyEvent, into: FileWatchEvent[]): void {
    const paths = this.#pathsByWd.get(event.wd);
    // Already removed: the queue may still hold its events.
    if (paths === undefined) return;
    if ((event.mask & (goneMask | inotifyMask.ignored)) !== 0) {
      // After a move the kernel still watches the object at its new place, which isn't the requested path.
      const stillWatched = (event.mask & inotifyMask.moveSelf) !== 0 && !this.#inotify.closed;
      for (const path of [...paths]) {
        this.#forget(path, stillWatched);
        into.push({ kind: 'gone', path });
      }
      return;
    }
    const found = changes.find(([mask]) => (event.mask & mask) !== 0);
    if (found === undefined) return;
    const [, change, interest] = found;
    for (const path of paths) {
      if (this.#watches.get(path)!.interests.has(interest)) into.push({ kind: 'entry', path, name: event.name, change });
    }
  }
}
