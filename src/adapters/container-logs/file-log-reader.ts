// Reads the log of a container from its file, and follows it while the container runs: across rotations, and from the beginning again when
// the file is emptied. An asynchronous iterable: nothing is read before the consumer asks for more, so a slow one holds up nobody.
//
// Invariants: each line is given once; the old file of a rotation is read to its end before the new one; whatever way the reading ends, the
// file and its watch are closed; one turn of the event loop has a bounded share of the work for all readers.
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LogChunk, LogReadOptions } from '../../domain/values/log-read-options.js';
import { endWholeLines, forgetOpenLines, readWholeLine, startWholeLines, type WholeLineReading, wantsWholeLine } from '../../domain/values/whole-log-lines.js';
import { nextTailBlock, searchWholeLineTail, startWholeLineTail } from '../../domain/values/whole-log-tail.js';
import type { FileWatch, FileWatchListener } from '../../ports/outbound/file-watch.js';
import { PortError } from '../../ports/port-error.js';
import { type DirectoryChanges, DirectoryWatches } from './directory-changes.js';
import { identityOf, LogFile } from './log-file.js';
import { TurnsInOrder } from './turns-in-order.js';

/** Between two questions whether the container may write more; where no watch tells of changes, the file is looked at, too. */
const waitMillis = 1_000;
/** Questions after which the file is looked at, whatever the watch says. */
const quietMax = 10;
/** Lines of one reader that are worked on in one piece. */
const linesAtOnce = 128;
/** Pieces, of all readers, in one turn of the event loop. */
const piecesInTurn = 8;

/** A log as whoever asks for it knows it. */
export interface ContainerLogFile {
  readonly path: string;
  /** Whether the container may write more. Asked before each wait when following; many may follow one container, so the answer should be shared. Rejects: the reading ends so. */
  mayGrow(): Promise<boolean>;
}

export interface LogReadRequest {
  readonly log: ContainerLogFile;
  readonly options: LogReadOptions;
  /** Ends the reading, without an error. */
  readonly signal: AbortSignal;
}

export interface LogReaderOptions {
  /** Opens a watch; none means that a change is found within a second. */
  readonly openFileWatch: ((listener: FileWatchListener) => FileWatch) | null;
}

export class FileLogReader {
  private readonly watches: DirectoryWatches;
  private readonly turns = new TurnsInOrder(piecesInTurn);

  constructor({ openFileWatch }: LogReaderOptions) {
    this.watches = new DirectoryWatches(openFileWatch);
  }

  /**
   * What is written, in order, with neighbours of one stream joined. Rejects with PortError: `not-found` (no such file), `data-loss` (not a log); what was
   * given before stays given.
   */
  async *read({ log, options, signal }: LogReadRequest): AsyncGenerator<LogChunk, void, undefined> {
    const following = options.follow ? new Following(log, this.watches, signal) : null;
    let file = await LogFile.open(log.path);
    try {
      const reading = await begin(file, options);
      if (reading.bytesLeft <= 0 || (!options.follow && !wantsWholeLine(reading))) return;
      for (;;) {
        // Asked before what is there is read: what a container wrote before it ended is in the file then.
        const next: Next = following === null ? { kind: 'over' } : await following.look(file);
        if (yield* restOfFile(file, reading, this.turns, signal)) return;
        if (signal.aborted) return;
        if (next.kind === 'over') break;
        if (next.kind === 'other') {
          yield* joined(lastOf(file, reading, false));
          await file.close();
          file = next.file;
        } else if (next.kind === 'emptied') {
          forgetOpenLines(reading);
          file.seek(0);
        } else await following?.change();
      }
      yield* joined(lastOf(file, reading, true));
    } finally {
      following?.close();
      await file.close();
    }
  }
}

/** What there is to do once the file has been read to its end. */
type Next = { readonly kind: 'over' | 'wait' | 'emptied' } | { readonly kind: 'other'; readonly file: LogFile };

class Following {
  private readonly changes: DirectoryChanges;

  constructor(
    private readonly log: ContainerLogFile,
    watches: DirectoryWatches,
    private readonly signal: AbortSignal,
  ) {
    this.changes = watches.changesOf(dirname(log.path));
  }

  async look(file: LogFile): Promise<Next> {
    const mayGrow = await this.log.mayGrow();
    const found = await stat(this.log.path).catch(() => null);
    // Between the move of the old file and the making of the new one there is none.
    if (found !== null && identityOf(found) !== file.identity) {
      const other = await LogFile.open(this.log.path).catch(() => null);
      if (other !== null) return { kind: 'other', file: other };
    } else if (found !== null && file.wasTruncatedTo(found.size)) return { kind: 'emptied' };
    return { kind: mayGrow ? 'wait' : 'over' };
  }

  /** Until there is something to look at. */
  async change(): Promise<void> {
    for (let quiet = 0; quiet < quietMax; quiet++) {
      const changed = await this.changes.next(waitMillis, this.signal);
      if (changed || this.signal.aborted || !this.changes.isWatched || !(await this.log.mayGrow())) return;
    }
  }

  close(): void {
    this.changes.close();
  }
}

async function begin(file: LogFile, options: LogReadOptions): Promise<WholeLineReading> {
  if (options.tailLines === null) return startWholeLines(options);
  const tail = startWholeLineTail(options.tailLines, await file.size());
  for (let step = nextTailBlock(tail); ; ) {
    if (step.kind === 'found') {
      file.seek(step.offset);
      return startWholeLines(options, step.skip);
    }
    const block = await file.readAt(step.offset, step.length);
    if (block.length < step.length) {
      // Emptied while it was looked at.
      file.seek(0);
      return startWholeLines(options);
    }
    step = searchWholeLineTail(tail, block);
  }
}

/** Gives what is in the file from here to its end. True: nothing more is wanted. */
async function* restOfFile(file: LogFile, reading: WholeLineReading, turns: TurnsInOrder, signal: AbortSignal): AsyncGenerator<LogChunk, boolean, undefined> {
  for (;;) {
    const lines = await file.nextLines();
    if (lines === null || signal.aborted) return false;
    for (let start = 0; start < lines.length || start === 0; start += linesAtOnce) {
      await (turns.next() ?? undefined);
      const chunks: LogChunk[] = [];
      const isOver = takeLines(lines.slice(start, start + linesAtOnce), reading, chunks);
      yield* joined(chunks);
      if (isOver === true) return true;
      if (isOver !== false) throw isOver;
    }
  }
}

/** Puts what is to be given into `chunks`. True: nothing more is wanted; an error: the log can't be read from here on. */
function takeLines(lines: readonly Buffer[], reading: WholeLineReading, chunks: LogChunk[]): boolean | PortError {
  for (const line of lines) {
    if (!wantsWholeLine(reading)) return true;
    const step = readWholeLine(reading, line);
    if (step.kind === 'failed') return new PortError({ kind: 'data-loss', message: step.message, operation: 'containerLogs.read', subject: '' });
    chunks.push(...step.chunks);
    if (step.kind === 'done') return true;
  }
  return !wantsWholeLine(reading);
}

/** What is left without an end: of a file that nothing comes after, all of it; else only the line of the file. */
function lastOf(file: LogFile, reading: WholeLineReading, isEnd: boolean): LogChunk[] {
  const chunks: LogChunk[] = [];
  const rest = file.takeRest();
  if (rest.length > 0 && wantsWholeLine(reading)) {
    const step = readWholeLine(reading, rest);
    if (step.kind === 'failed') throw new PortError({ kind: 'data-loss', message: step.message, operation: 'containerLogs.read', subject: '' });
    chunks.push(...step.chunks);
    if (step.kind === 'done') return chunks;
  }
  return isEnd ? [...chunks, ...endWholeLines(reading)] : chunks;
}

/** Neighbours of one stream as one chunk: a consumer pays for each. */
function* joined(chunks: readonly LogChunk[]): Generator<LogChunk, void, undefined> {
  for (let i = 0; i < chunks.length; ) {
    const { stream } = chunks[i]!;
    let end = i + 1;
    while (end < chunks.length && chunks[end]?.stream === stream) end++;
    const bytes = end === i + 1 ? chunks[i]!.bytes : Buffer.concat(chunks.slice(i, end).map((chunk) => chunk.bytes));
    yield { stream, bytes };
    i = end;
  }
}
