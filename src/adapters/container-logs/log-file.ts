// A log file that is read in blocks, line by line, from any place on; it may grow, be emptied or be moved away meanwhile.
// Invariant: at most a block and one line are in memory, however large the file is; only regular files are opened, and nothing blocks.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { goQuote } from '../../domain/values/go-text.js';
import { PortError } from '../../ports/port-error.js';

const blockBytes = 64 * 1024;
/** Least that is read at once: that much comes out of memory that Node has ready. */
const smallBlockBytes = 2 * 1024;
/** A line that is longer is no line of a log: it is passed over. */
const lineBytesMax = 1024 * 1024;
const newline = 0x0a;

export class LogFile {
  /** The beginning of a line whose end is not there yet. */
  private rest: Buffer = Buffer.alloc(0);
  private tooLong = false;
  private position = 0;
  /** The last block ended with the file. */
  private hasEnded = false;

  private constructor(
    private readonly handle: FileHandle,
    readonly identity: string,
    private sizeSeen: number,
  ) {}

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
      return new LogFile(handle, identityOf(stats), stats.size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async size(): Promise<number> {
    return (await this.handle.stat()).size;
  }

  /** Where reading goes on. What was begun of a line is forgotten. */
  seek(position: number): void {
    this.position = position;
    this.rest = emptyBuffer;
    this.tooLong = false;
    this.hasEnded = false;
  }

  /** Somebody has looked at the file. @returns whether it is shorter than what was read of it */
  wasTruncatedTo(size: number): boolean {
    this.sizeSeen = size;
    return size < this.position;
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

  /** The whole lines of the next block, each with its newline; null at the end of the file. */
  async nextLines(): Promise<Buffer[] | null> {
    const hasEnded = this.hasEnded;
    this.hasEnded = false;
    if (hasEnded) return null;
    // A fresh one each time: the parts of a long line are kept as views of it. One byte more than there should be shows the end.
    const block = Buffer.allocUnsafe(Math.min(blockBytes, Math.max(smallBlockBytes, this.sizeSeen - this.position + 1)));
    const { bytesRead } = await this.handle.read(block, 0, block.length, this.position);
    if (bytesRead === 0) return null;
    this.hasEnded = bytesRead < block.length;
    this.position += bytesRead;
    const lines: Buffer[] = [];
    let start = 0;
    for (let at = block.indexOf(newline); at >= 0 && at < bytesRead; at = block.indexOf(newline, start)) {
      const line = block.subarray(start, at + 1);
      if (!this.tooLong) lines.push(this.rest.length === 0 ? line : Buffer.concat([this.rest, line]));
      this.rest = emptyBuffer;
      this.tooLong = false;
      start = at + 1;
    }
    this.keep(block.subarray(start, bytesRead));
    return lines;
  }

  /** What is there of a line without its end; empty when there is none. */
  takeRest(): Buffer {
    const { rest } = this;
    this.rest = emptyBuffer;
    return rest;
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private keep(begun: Buffer): void {
    this.tooLong ||= this.rest.length + begun.length > lineBytesMax;
    this.rest = this.tooLong ? emptyBuffer : this.rest.length === 0 ? begun : Buffer.concat([this.rest, begun]);
  }
}

const emptyBuffer: Buffer = Buffer.alloc(0);

/** The same file, whatever its name is. */
export function identityOf({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`;
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
