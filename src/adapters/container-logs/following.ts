// A reader's view of a log that is rotated while it is followed: which file comes after the current one, and when to check again.
//
// Invariants: the directory is listed only after the log became another file; it is checked while the consumer is busy, too, so
// that the size of files removed meanwhile is known.
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  advanceLog,
  isCompressed,
  type LogSuccession,
  type MissingLog,
  newestLog,
  observeLogs,
  resized,
  startLogSuccession,
  unidentifiedLogs,
  withHead,
} from '../../domain/values/log-succession.js';
import { PortError } from '../../ports/port-error.js';
import { CompressedLog } from './compressed-log.js';
import type { DirectoryChanges, DirectoryWatches } from './directory-changes.js';
import { compressedHeadOf, entryOf, HeadlessLog, headBytes, headText, logEntries } from './log-directory.js';
import { LogFile } from './log-file.js';
import type { LogSource } from './log-source.js';

/** Checks after which the file is read even without a change from the watch. */
const quietMax = 10;
/** Tries to open a log that is being rotated. */
const opensMax = 10;
const openAgainMillis = 100;
/** Listings until the files stay the same while they are read. */
const listingsMax = 10;

/** A log as its client identifies it. */
export interface ContainerLogFile {
  readonly path: string;
  /** Whether the container may write more. Called before each wait when following; many may follow one container, so the answer should be shared. A rejection ends the reading. */
  mayGrow(): Promise<boolean>;
}

/** The next action after the end of the file. `other`: there is a next file. */
export interface Look {
  readonly next: 'over' | 'wait' | 'other';
  /** The log was just moved aside: the writer may not have noticed yet. */
  readonly isFresh: boolean;
}

export interface NextLog {
  readonly source: LogSource;
  readonly missing: MissingLog;
}

export class Following {
  /** The consumer has the lines, and has not requested more. */
  isAway = false;
  private last: Promise<void> = Promise.resolve();
  private headless: HeadlessLog | null = null;
  /** A listing is due, even if the log itself is unchanged. */
  private isStale = false;

  private constructor(
    private readonly log: ContainerLogFile,
    private readonly directory: string,
    private succession: LogSuccession,
    private source: LogSource,
    private readonly changes: DirectoryChanges,
    private readonly signal: AbortSignal,
    private readonly waitMillis: number,
  ) {}

  /** To be closed, and so is the file. */
  static async start(
    log: ContainerLogFile,
    watches: DirectoryWatches,
    signal: AbortSignal,
    waitMillis: number,
  ): Promise<{ readonly file: LogFile; readonly following: Following }> {
    let file = await openLog(log);
    const [directory, name] = [dirname(file.path), basename(file.path)];
    // Before the listing, so that no change is missed.
    const changes = watches.changesOf(directory);
    try {
      for (let tries = 1; ; tries++) {
        const entries = await logEntries(directory, name);
        const newest = entries.find((entry) => entry.name === name);
        if (newest === undefined || newest.identity === file.identity || tries === opensMax) {
          const own = entries.find(({ identity }) => identity === file.identity) ?? { name, identity: file.identity, sizeBytes: 0 };
          return { file, following: new Following(log, directory, startLogSuccession(name, own, entries), file, changes, signal, waitMillis) };
        }
        await file.close();
        file = await openLog(log);
      }
    } catch (error) {
      changes.close();
      await file.close();
      throw error;
    }
  }

  async look(): Promise<Look> {
    const mayGrow = await this.log.mayGrow();
    await this.observe();
    const { pending, logName } = this.succession;
    if (pending.length > 0) return { next: 'other', isFresh: mayGrow && pending.length === 1 && pending[0]?.name === logName };
    return { next: mayGrow ? 'wait' : 'over', isFresh: false };
  }

  /** Opens the file after the current one. null: it is gone, check again. */
  async advance(): Promise<NextLog | null> {
    return this.alone(() => this.advanceNow());
  }

  private async advanceNow(): Promise<NextLog | null> {
    const { pending } = this.succession;
    const [next] = pending;
    if (next === undefined) return null;
    const path = join(this.directory, next.name);
    const source = await (isCompressed(next.name) ? CompressedLog.open(path) : LogFile.open(path)).catch((error: unknown) => {
      const code = error instanceof PortError ? error.kind : (error as NodeJS.ErrnoException).code;
      if (code === 'not-found' || code === 'ENOENT') return null;
      throw error;
    });
    this.isStale = source === null || source.identity !== next.identity;
    if (source === null) return null;
    if (source.identity !== next.identity) {
      await source.close();
      return null;
    }
    this.succession = advanceLog(this.succession) ?? this.succession;
    // It may have grown since it was listed.
    if (source instanceof LogFile) this.succession = resized(this.succession, { ...next, sizeBytes: source.seenBytes });
    this.source = source;
    return { source, missing: next.missing };
  }

  /** The gap at the end. */
  get missing(): MissingLog {
    return this.succession.missing;
  }

  /** Updates the list of files beside the log. */
  observe(): Promise<void> {
    return this.alone(() => this.observeNow());
  }

  /** Serializes steps, so that none uses an outdated listing. */
  private alone<T>(step: () => Promise<T>): Promise<T> {
    const done = this.last.then(step);
    this.last = done.then(nothing, nothing);
    return done;
  }

  /** Waits for a change. */
  async change(): Promise<void> {
    for (let quiet = 0; quiet < quietMax; quiet++) {
      const changed = await this.changes.next(this.waitMillis, this.signal);
      if (changed || this.signal.aborted || !this.changes.isWatched || !(await this.log.mayGrow())) return;
    }
  }

  async close(): Promise<void> {
    this.changes.close();
    await this.alone(() => this.closeHeadless());
  }

  private async observeNow(): Promise<void> {
    const { logName } = this.succession;
    // The consumer may request more meanwhile; a size from before that read says nothing about the position after it.
    const mark = this.source instanceof LogFile ? this.source.readMark : null;
    const log = await entryOf(this.directory, logName);
    const newest = newestLog(this.succession);
    if (this.isStale || log === null || newest.name !== logName || newest.identity !== log.identity) await this.list();
    else this.succession = resized(this.succession, log);
    const { current } = this.succession;
    if (this.source instanceof LogFile && mark !== null && this.source.readMark === mark && current.identity === this.source.identity) this.source.saw(current.sizeBytes);
    await this.fillHead();
  }

  private async list(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const before = withHead(await this.withOwnHead(), this.headless?.identity ?? '', (await this.headless?.head()) ?? '');
      const entries = await logEntries(this.directory, before.logName);
      const names = unidentifiedLogs(before, entries);
      const heads = await Promise.all(names.map((name) => compressedHeadOf(this.directory, name)));
      // One that went meanwhile would be taken for another; so would the current one if it was emptied meanwhile, and it would be read twice.
      const isCertain = !heads.includes(null) && (names.length === 0 || (await this.withOwnHead()).current.head === before.current.head);
      if (!isCertain && tries < listingsMax) continue;
      this.succession = observeLogs(before, entries, new Map(names.map((name, i) => [name, heads[i] ?? ''])));
      this.isStale = false;
      return;
    }
  }

  /** The file being read is open, even if its name has changed. */
  private async withOwnHead(): Promise<LogSuccession> {
    const { current } = this.succession;
    if (!(this.source instanceof LogFile)) return this.succession;
    return withHead(this.succession, current.identity, headText(await this.source.readAt(0, headBytes)));
  }

  /** Reads the beginning of the newest file, before it is compressed or removed. */
  private async fillHead(): Promise<void> {
    const newest = this.succession.pending.at(-1) ?? null;
    if (this.headless !== null && this.headless.identity !== newest?.identity) await this.closeHeadless();
    if (newest === null || (newest.head !== null && newest.head !== '') || isCompressed(newest.name)) return;
    this.headless ??= await HeadlessLog.open(this.directory, newest);
    if (this.headless === null) return;
    const head = await this.headless.head();
    this.succession = withHead(this.succession, newest.identity, head);
    if (head !== '') await this.closeHeadless();
  }

  private async closeHeadless(): Promise<void> {
    const { headless } = this;
    this.headless = null;
    await headless?.close();
  }
}

/** Between the move of the old file and the creation of the new one the log is absent. */
export async function openLog(log: ContainerLogFile): Promise<LogFile> {
  for (let tries = 1; ; tries++) {
    try {
      return await LogFile.open(log.path);
    } catch (error) {
      if (!(error instanceof PortError) || error.kind !== 'not-found' || tries >= opensMax || !(await log.mayGrow())) throw error;
    }
    await delay(openAgainMillis);
  }
}

function nothing(): void {}
