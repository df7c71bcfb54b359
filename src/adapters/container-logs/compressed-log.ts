// A compressed rotated log: its lines, decompressed as they are read.
// Invariant: at most two blocks are in memory for any file size; a damaged file ends with an error.
import { constants, type ReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { LineSplitter } from './line-splitter.js';
import { identityOf } from './log-file.js';
import type { LogLines, LogSource } from './log-source.js';

const openFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

export class CompressedLog implements LogSource {
  private readonly splitter = new LineSplitter();
  private readonly blocks: AsyncIterator<Buffer>;

  private constructor(
    readonly identity: string,
    private readonly file: ReadStream,
  ) {
    this.blocks = blocksOf(file);
  }

  /** Rejects as `open` does. */
  static async open(path: string): Promise<CompressedLog> {
    const handle = await open(path, openFlags);
    try {
      const identity = identityOf(await handle.stat());
      return new CompressedLog(identity, handle.createReadStream());
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async nextLines(): Promise<LogLines> {
    const { value, done } = await this.blocks.next();
    return done === true ? 'end' : this.splitter.split(value);
  }

  takeRest(): Buffer {
    return this.splitter.takeRest();
  }

  async close(): Promise<void> {
    await this.blocks.return?.();
    // Without any read the file is still open.
    this.file.destroy();
  }
}

/** The first bytes of the content; fewer if it is shorter or damaged. null if the file is absent. */
export async function compressedHead(path: string, length: number): Promise<Buffer | null> {
  const handle = await open(path, openFlags).catch(() => null);
  if (handle === null) return null;
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const block of blocksOf(handle.createReadStream())) {
      parts.push(block);
      size += block.length;
      if (size >= length) break;
    }
  } catch {
    // Damaged: returns what was read so far.
  }
  return Buffer.concat(parts).subarray(0, length);
}

/** Closes both streams, however the reading ends. */
async function* blocksOf(file: ReadStream): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip();
  file.once('error', (error) => gunzip.destroy(error));
  try {
    for await (const block of file.pipe(gunzip)) yield block as Buffer;
  } finally {
    file.destroy();
    gunzip.destroy();
  }
}
