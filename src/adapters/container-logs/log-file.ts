// A log file read in blocks, line by line, from any position; it may grow, be truncated or be moved meanwhile.
// Invariants: at most a block and one line are in memory for any file size; only regular files are opened, and no call blocks. Each
// read overlaps the previous one by a few bytes, which detects a file that was truncated and rewritten to any length. A size is compared
// only with the position in the same content: bytes that were read are never counted as missed.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { goQuote } from '../../domain/values/go-text.js';
import { PortError } from '../../ports/port-error.js';
import { LineSplitter } from './line-splitter.js';
import type { LogLines, LogSource } from './log-source.js';

const blockBytes = 64 * 1024;
/** Least that is read at once: that much comes out of memory that Node has ready. */
const smallBlockBytes = 2 * 1024;
/** How many bytes of the previous read are read again. Records begin with their time, so they rarely equal those of another file. */
const overlapBytes = 64;

export class LogFile implements LogSource {
  private readonly splitter = new LineSplitter();
  private position = 0;
  /** The last bytes before the position that were read. */
  private overlap: Buffer = emptyBuffer;
  /** The last block ended with the file. */
  private hasEnded = false;
  private missedBytes = 0;
  private reads = 0;
  private isReading = false;

  private constructor(
    private readonly handle: FileHandle,
    /** The resolved path, without symbolic links. */
    readonly path: string,
    readonly identity: string,
    private sizeSeen: number,
  ) {}

  /** The size as last seen. */
  get seenBytes(): number {
    return this.sizeSeen;
  }

  /** Changes with each read. null during a read: the position is then behind the bytes that were read. */
  get readMark(): number | null {
    return this.isReading ? null : this.reads;
  }

  /** @param path used in errors */
  static async open(path: string): Promise<LogFile> {
    const real = await realpath(path).catch((error: unknown) => {
      throw failure(error, `failed to try resolving symlinks in path ${goQuote(path)}: lstat ${path}`, path);
    });
    const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY).catch((error: unknown) => {
      throw failure(error, `failed to open log file ${goQuote(path)}: open ${real}`, path);
    });
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw failure(null, `failed to open log file ${goQuote(path)}: not a regular file`, path);
      return new LogFile(handle, real, identityOf(stats), stats.size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async size(): Promise<number> {
    return (await this.handle.stat()).size;
  }

  /** Sets the position of the next read. Discards an incomplete line. */
  async seek(position: number): Promise<void> {
    const before = Math.min(overlapBytes, position);
    this.overlap = await this.readAt(position - before, before);
    this.position = position;
    this.splitter.forget();
    this.hasEnded = false;
  }

  /** Records the size of the file, which was found without a read since: `readMark` was not null, and is the same now. */
  saw(size: number): void {
    if (size < this.sizeSeen) this.missedBytes += Math.max(0, this.sizeSeen - this.position);
    this.sizeSeen = size;
  }

  /** The file was rewritten: reads from its beginning. @returns bytes known to exist before that were not read */
  async begin(): Promise<number> {
    return this.whileReading(async () => {
      // The read may have found it first: the next size must not be compared with that of the content before.
      this.saw(await this.size());
      const { missedBytes } = this;
      this.missedBytes = 0;
      await this.seek(0);
      return missedBytes;
    });
  }

  async readAt(offset: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await this.handle.read(buffer, filled, length - filled, offset + filled);
      if (bytesRead === 0) break; // shortened meanwhile
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }

  async nextLines(): Promise<LogLines> {
    const hasEnded = this.hasEnded;
    this.hasEnded = false;
    return hasEnded ? 'end' : this.whileReading(() => this.nextBlock());
  }

  private async whileReading<T>(read: () => Promise<T>): Promise<T> {
    this.isReading = true;
    try {
      return await read();
    } finally {
      this.isReading = false;
      this.reads++;
    }
  }

  private async nextBlock(): Promise<LogLines> {
    const again = this.overlap.length;
    // A new buffer each time: the parts of a long line are kept as views of it. One more byte than expected detects the end.
    const block = Buffer.allocUnsafe(again + Math.min(blockBytes, Math.max(smallBlockBytes, this.sizeSeen - this.position + 1)));
    const { bytesRead } = await this.handle.read(block, 0, block.length, this.position - again);
    if (bytesRead < again || !block.subarray(0, again).equals(this.overlap)) return 'rewritten';
    if (bytesRead === again) return 'end';
    this.hasEnded = bytesRead < block.length;
    this.position += bytesRead - again;
    // Copied: a view would hold the whole block for as long as the log is followed.
    this.overlap = Buffer.from(block.subarray(Math.max(0, bytesRead - overlapBytes), bytesRead));
    return this.splitter.split(block.subarray(again, bytesRead));
  }

  takeRest(): Buffer {
    return this.splitter.takeRest();
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

const emptyBuffer: Buffer = Buffer.alloc(0);

/** Identifies the file by more than its name. The inode number of a removed file is soon reused; its birth time is not. */
export function identityOf({ dev, ino, birthtimeMs }: Pick<Stats, 'dev' | 'ino' | 'birthtimeMs'>): string {
  return `${dev}:${ino}:${birthtimeMs}`;
}

const kinds: Readonly<Record<string, 'not-found' | 'permission-denied'>> = { ENOENT: 'not-found', ENOTDIR: 'not-found', EACCES: 'permission-denied', ELOOP: 'permission-denied' };
const texts: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EACCES: 'permission denied',
  ELOOP: 'too many levels of symbolic links',
};

function failure(error: unknown, message: string, subject: string): PortError {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
  const reason = error === null ? '' : `: ${texts[code] ?? (error instanceof Error ? error.message : String(error))}`;
  return new PortError({ kind: kinds[code] ?? 'unknown', message: `${message}${reason}`, operation: 'containerLogs.read', subject, cause: error });
}
