// Reads the log of a container from its file, and follows it while the container runs: across rotations, and from the beginning again when
// the file is truncated. An asynchronous iterable: it reads only on demand, so a slow consumer blocks no other work.
//
// Invariants: each line is given once; the files of a rotation are read in the order in which they were written, each to its end, and late
// writes to the old file are still read; the answer counts the bytes removed before they were read; files and watches are closed however the reading
// ends; all readers together do a bounded amount of work in one turn of the event loop.
import { setTimeout as delay } from 'node:timers/promises';
import type { LogChunk, LogReadOptions } from '../../domain/values/log-read-options.js';
import { type MissingLog, missingLogText, nothingMissing } from '../../domain/values/log-succession.js';
import {
  endWholeLines,
  forgetOpenLines,
  readWholeLine,
  remark,
  startWholeLines,
  unsupportedLog,
  type WholeLineReading,
  wantsWholeLine,
} from '../../domain/values/whole-log-lines.js';
import { nextTailBlock, searchWholeLineTail, startWholeLineTail } from '../../domain/values/whole-log-tail.js';
import type { FileWatch, FileWatchListener } from '../../ports/outbound/file-watch.js';
import { PortError } from '../../ports/port-error.js';
import { DirectoryWatches } from './directory-changes.js';
import { type ContainerLogFile, Following, openLog } from './following.js';
import { LogFile } from './log-file.js';
import type { LogSource } from './log-source.js';
import { TurnsInOrder } from './turns-in-order.js';

/** Between two checks whether the container may write more; without a watch the file is checked, too. */
const waitMillisDefault = 1_000;
/** Lines of one reader that are worked on in one piece. */
const linesAtOnce = 128;
/** Pieces, of all readers, in one turn of the event loop. */
const piecesInTurn = 8;
/** The time for the runtime to write its last lines to the rotated file. */
const settleMillis = 100;
/** How long the old file is still checked after that. */
const lateMillis = 10_000;

export interface LogReadRequest {
  readonly log: ContainerLogFile;
  readonly options: LogReadOptions;
  /** Ends the reading, without an error. */
  readonly signal: AbortSignal;
}

export interface LogReaderOptions {
  /** Opens a watch; none means that a change is found within a second. */
  readonly openFileWatch: ((listener: FileWatchListener) => FileWatch) | null;
  /** Between two checks without a watch, and while the consumer is busy; default 1 s. */
  readonly waitMillis?: number;
}

export class FileLogReader {
  private readonly watches: DirectoryWatches;
  private readonly turns = new TurnsInOrder(piecesInTurn);
  private readonly followings = new Set<Following>();
  private readonly waitMillis: number;
  private ticking: NodeJS.Timeout | null = null;

  constructor({ openFileWatch, waitMillis = waitMillisDefault }: LogReaderOptions) {
    this.watches = new DirectoryWatches(openFileWatch);
    this.waitMillis = waitMillis;
  }

  /**
   * What is written, in order, with neighbours of one stream joined. Rejects with PortError: `not-found` (no such file), `data-loss` (not a log); what was
   * given before stays given.
   */
  async *read({ log, options, signal }: LogReadRequest): AsyncGenerator<LogChunk, void, undefined> {
    if (!options.follow) {
      const file = await openLog(log);
      try {
        yield* new LogReading(await begin(file, options), file, this.turns, null, signal).run();
      } finally {
        await file.close();
      }
      return;
    }
    const { file, following } = await Following.start(log, this.watches, signal, this.waitMillis);
    let reading: LogReading | null = null;
    this.follow(following);
    try {
      reading = new LogReading(await begin(file, options), file, this.turns, following, signal);
      yield* reading.run();
    } finally {
      await this.unfollow(following);
      await (reading === null ? file.close() : reading.close());
    }
  }

  private follow(following: Following): void {
    this.followings.add(following);
    this.ticking ??= setInterval(() => this.tick(), this.waitMillis).unref();
  }

  private async unfollow(following: Following): Promise<void> {
    this.followings.delete(following);
    if (this.followings.size === 0 && this.ticking !== null) {
      clearInterval(this.ticking);
      this.ticking = null;
    }
    await following.close();
  }

  /** For readers with busy consumers; the others check by themselves. */
  private tick(): void {
    for (const following of this.followings) if (following.isAway) following.observe().catch(() => {});
  }
}

/** One reading of a log: the file that is read, and the one before while something may still be written to it. */
class LogReading {
  private late: LogSource | null = null;
  private lateUntil = 0;

  constructor(
    private readonly lines: WholeLineReading,
    private source: LogSource,
    private readonly turns: TurnsInOrder,
    private readonly following: Following | null,
    private readonly signal: AbortSignal,
  ) {}

  async *run(): AsyncGenerator<LogChunk, void, undefined> {
    const { lines, following, signal } = this;
    if (lines.bytesLeft <= 0 || (following === null && !wantsWholeLine(lines))) return;
    for (;;) {
      // Checked before the content is read: lines from before the container's end are in the file then.
      const look = (await following?.look()) ?? null;
      if (yield* this.rest()) return;
      if (signal.aborted) return;
      if (look === null || look.next === 'over') break;
      if (look.next === 'wait') {
        this.check();
        await following?.change();
      } else {
        if (look.isFresh) {
          await delay(settleMillis, undefined, { signal }).catch(() => {});
          if (yield* this.rest()) return;
        }
        yield* this.advance();
      }
    }
    yield* this.endOfLate();
    yield* this.given(lastOf(this.source, lines, true));
    this.check();
    const { files = 0 } = following?.missing ?? nothingMissing;
    if (files > 0) yield* this.missing(following?.missing ?? nothingMissing);
  }

  async close(): Promise<void> {
    await this.late?.close();
    await this.source.close();
  }

  /** The rest of the previous file, then the new lines of this one. True: the consumer wants no more. */
  private async *rest(): AsyncGenerator<LogChunk, boolean, undefined> {
    if (this.late !== null && (yield* this.restOf(this.late))) return true;
    if (this.late !== null && performance.now() > this.lateUntil) yield* this.endOfLate();
    return yield* this.restOf(this.source);
  }

  /** Yields the file's content from here to its end. True: the consumer wants no more. */
  private async *restOf(source: LogSource): AsyncGenerator<LogChunk, boolean, undefined> {
    for (;;) {
      const lines = await this.linesOf(source);
      if (this.signal.aborted || lines === 'end') return false;
      if (lines === 'rewritten') {
        if (this.following === null || !(source instanceof LogFile) || source === this.late) return false;
        yield* this.fromTheBeginning(source);
        continue;
      }
      for (let start = 0; start < lines.length || start === 0; start += linesAtOnce) {
        await (this.turns.next() ?? undefined);
        const chunks: LogChunk[] = [];
        const isOver = takeLines(lines.slice(start, start + linesAtOnce), this.lines, chunks);
        yield* this.given(chunks);
        if (isOver) return true;
      }
    }
  }

  /** A compressed file that is damaged ends there, with an error that names it. */
  private async linesOf(source: LogSource) {
    try {
      return await source.nextLines();
    } catch (error) {
      const message = `failed to read the log: ${error instanceof Error ? error.message : String(error)}`;
      throw new PortError({ kind: 'data-loss', message, operation: 'containerLogs.read', subject: '', cause: error });
    }
  }

  private async *fromTheBeginning(file: LogFile): AsyncGenerator<LogChunk, void, undefined> {
    forgetOpenLines(this.lines);
    const bytes = await file.begin();
    yield* this.missing({ files: 0, bytes, mayBeMore: false });
  }

  private async *advance(): AsyncGenerator<LogChunk, void, undefined> {
    const next = (await this.following?.advance()) ?? null;
    if (next === null) return;
    yield* this.endOfLate();
    this.late = this.source;
    this.lateUntil = performance.now() + lateMillis;
    this.source = next.source;
    yield* this.missing(next.missing);
  }

  private async *endOfLate(): AsyncGenerator<LogChunk, void, undefined> {
    const { late } = this;
    if (late === null) return;
    this.late = null;
    const chunks = lastOf(late, this.lines, false);
    await late.close();
    yield* this.given(chunks);
  }

  private *missing(missing: MissingLog): Generator<LogChunk, void, undefined> {
    const text = missingLogText(missing);
    if (text !== null) yield* this.given(remark(this.lines, text));
  }

  /** Neighbours of one stream as one chunk: a consumer pays for each. */
  private *given(chunks: readonly LogChunk[]): Generator<LogChunk, void, undefined> {
    for (let i = 0; i < chunks.length; ) {
      const { stream } = chunks[i]!;
      let end = i + 1;
      while (end < chunks.length && chunks[end]?.stream === stream) end++;
      const bytes = end === i + 1 ? chunks[i]!.bytes : Buffer.concat(chunks.slice(i, end).map((chunk) => chunk.bytes));
      if (this.following !== null) this.following.isAway = true;
      yield { stream, bytes };
      if (this.following !== null) this.following.isAway = false;
      i = end;
    }
  }

  /** At the end of the content. Throws if none of it is a log. */
  private check(): void {
    const message = unsupportedLog(this.lines);
    if (message !== null) throw new PortError({ kind: 'data-loss', message, operation: 'containerLogs.read', subject: '' });
  }
}

async function begin(file: LogFile, options: LogReadOptions): Promise<WholeLineReading> {
  if (options.tailLines === null) return startWholeLines(options);
  const tail = startWholeLineTail(options.tailLines, await file.size());
  for (let step = nextTailBlock(tail); ; ) {
    if (step.kind === 'found') {
      await file.seek(step.offset);
      return startWholeLines(options, step.skip);
    }
    const block = await file.readAt(step.offset, step.length);
    if (block.length < step.length) {
      // Truncated while it was read.
      await file.seek(0);
      return startWholeLines(options);
    }
    step = searchWholeLineTail(tail, block);
  }
}

/** Adds lines to `chunks`. True: the consumer wants no more. */
function takeLines(lines: readonly Buffer[], reading: WholeLineReading, chunks: LogChunk[]): boolean {
  for (const line of lines) {
    if (!wantsWholeLine(reading)) return true;
    const step = readWholeLine(reading, line);
    chunks.push(...step.chunks);
    if (step.isDone) return true;
  }
  return !wantsWholeLine(reading);
}

/** The incomplete rest: of the last file, all of it; otherwise the file's last line, which ends with the file. */
function lastOf(source: LogSource, reading: WholeLineReading, isEnd: boolean): LogChunk[] {
  const chunks: LogChunk[] = [];
  const rest = source.takeRest();
  if (rest.length > 0 && wantsWholeLine(reading)) {
    const step = readWholeLine(reading, isEnd ? rest : Buffer.concat([rest, newline]));
    chunks.push(...step.chunks);
    if (step.isDone) return chunks;
  }
  return isEnd ? [...chunks, ...endWholeLines(reading)] : chunks;
}

const newline = Buffer.from('\n');
