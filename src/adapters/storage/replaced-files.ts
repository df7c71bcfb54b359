// Files that may be replaced while the daemon runs (certificates, authorities): they are read again when an entry of their directories changes,
// and each minute, as in the Go kubelet, since a watch can fail.
// Invariants: a change is used within a second where watches work; unusable files never replace usable ones; nothing is read while nothing changes.
import { readFileSync, realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { FileWatch, FileWatchEvent, FileWatchListener } from '../../ports/outbound/file-watch.js';
import type { Logger } from '../../ports/outbound/logger.js';

const lookMillis = 60_000;
/** A certificate and its key are two files, and are replaced one after the other. */
const settleMillis = 250;
/** The entry that the kubelet swaps in a volume of a Secret or ConfigMap. */
const volumeData = '..data';

export interface ReplacedFilesOptions<Content> {
  /** Names the files in the log. */
  readonly what: string;
  readonly files: readonly string[];
  /** Reads the content of the files. @throws if they can't be used */
  readonly read: () => Content;
  /** Called with each new content. */
  readonly take: (content: Content) => void;
  readonly logger: Logger;
  readonly openFileWatch: (listener: FileWatchListener) => FileWatch;
  /** The period of polling; a minute if absent. */
  readonly pollMillis?: number;
}

export class ReplacedFiles<Content> {
  private seen: string;
  private watch: FileWatch | null = null;
  private soon: NodeJS.Timeout | null = null;
  private readonly poll: NodeJS.Timeout;
  private isClosed = false;

  private constructor(private readonly options: ReplacedFilesOptions<Content>) {
    this.seen = contentsOf(options.files);
    this.poll = setInterval(() => this.lookAndWatch(), options.pollMillis ?? lookMillis).unref();
    this.watchDirectories();
  }

  static follow<Content>(options: ReplacedFilesOptions<Content>): ReplacedFiles<Content> {
    return new ReplacedFiles(options);
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.poll);
    if (this.soon !== null) clearTimeout(this.soon);
    this.watch?.close();
    this.watch = null;
  }

  private lookAndWatch(): void {
    this.soon = null;
    if (this.isClosed) return;
    // Before the look: what changes after it is reported.
    this.watchDirectories();
    this.look();
  }

  private look(): void {
    const { files, what, read, take, logger } = this.options;
    const now = contentsOf(files);
    if (now === this.seen) return;
    this.seen = now;
    try {
      take(read());
      logger.log('info', 'Files were replaced and are in use', { what });
    } catch (error) {
      logger.log('error', 'Files were replaced by some that can not be used, the last good ones stay', { what, err: error instanceof Error ? error.message : String(error) });
    }
  }

  /** The directories of the files, and those that symbolic links lead to. A directory that can't be watched is left to polling. */
  private watchDirectories(): void {
    try {
      this.watch ??= this.options.openFileWatch((events) => this.saw(events));
    } catch {
      return;
    }
    for (const directory of new Set(this.options.files.flatMap((file) => [dirname(file), dirname(targetOf(file))]))) {
      try {
        this.watch.add(directory, 'changes');
      } catch {
        // It may come later.
      }
    }
  }

  private saw(events: readonly FileWatchEvent[]): void {
    if (events.some(({ kind }) => kind === 'failed')) {
      this.watch?.close();
      this.watch = null;
    }
    if (this.isClosed || this.soon !== null || !events.some((event) => this.concerns(event))) return;
    this.soon = setTimeout(() => this.lookAndWatch(), settleMillis).unref();
  }

  private concerns(event: FileWatchEvent): boolean {
    if (event.kind !== 'entry') return true;
    return event.name === volumeData || this.options.files.some((file) => basename(file) === event.name || basename(targetOf(file)) === event.name);
  }
}

/** The path itself where it leads nowhere. */
function targetOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function contentsOf(files: readonly string[]): string {
  return files
    .map((file) => {
      try {
        return readFileSync(file, 'utf8');
      } catch {
        return '';
      }
    })
    .join('\0');
}
