// Waits for something to change in a directory: as its watch tells, or after a time. A watch that fails costs latency and nothing else.
// Invariant: a change between two waits ends the second at once.
import type { FileWatch, FileWatchListener } from '../../ports/outbound/file-watch.js';

/** A watch that fails more often is not set up again. */
const failuresMax = 5;

export class DirectoryChanges {
  private watch: FileWatch | null = null;
  private failures = 0;
  private changed = false;
  private wake: (() => void) | null = null;

  constructor(
    private readonly path: string,
    private readonly open: ((listener: FileWatchListener) => FileWatch) | null,
  ) {
    this.arm();
  }

  /** Resolves at the next change, after `millis`, or when the signal is aborted. */
  async next(millis: number, signal: AbortSignal): Promise<void> {
    this.arm();
    if (!this.changed && !signal.aborted) {
      let stopWaiting = () => {};
      await new Promise<void>((resolve) => {
        const wake = () => resolve();
        const timer = setTimeout(wake, millis);
        signal.addEventListener('abort', wake);
        this.wake = wake;
        stopWaiting = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
        };
      });
      stopWaiting();
    }
    this.wake = null;
    this.changed = false;
  }

  close(): void {
    this.failures = failuresMax;
    this.watch?.close();
    this.watch = null;
    this.wake?.();
  }

  private arm(): void {
    if (this.watch !== null || this.open === null || this.failures >= failuresMax) return;
    try {
      this.watch = this.open((events) => {
        if (events.some(({ kind }) => kind === 'failed' || kind === 'gone')) this.fail();
        this.changed = true;
        this.wake?.();
      });
      this.watch.add(this.path, 'changes');
    } catch {
      this.fail();
    }
  }

  private fail(): void {
    this.failures++;
    this.watch?.close();
    this.watch = null;
  }
}
