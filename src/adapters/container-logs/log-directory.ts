// The rotated files beside a log, with the beginning of each.
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isCompressed, isOfLog, type LogEntry } from '../../domain/values/log-succession.js';
import { compressedHead } from './compressed-log.js';
import { identityOf } from './log-file.js';

/** The number of bytes read from a file's beginning. */
export const headBytes = 8 * 1024;
/** So much of it sets the file apart: the first record with its time. */
const headCharacters = 128;
const trailerBytes = 4;
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** The text that identifies a file, one character a byte; skips NUL bytes of a power loss, which many files have. '' if no other text exists. */
export function headText(beginning: Buffer): string {
  return /[^\0\s].*/s.exec(beginning.toString('latin1'))?.[0].slice(0, headCharacters) ?? '';
}

/** Listings that are tried until two in a row are equal. */
const listingsMax = 10;

/** A consistent listing of the log and its rotated files: a rotation between the listing and the reads would sort them wrongly. */
export async function logEntries(directory: string, logName: string): Promise<readonly LogEntry[]> {
  let names = await namesOf(directory, logName);
  for (let tries = 1; ; tries++) {
    const entries = await Promise.all(names.map((name) => entryOf(directory, name)));
    const namesAfter = await namesOf(directory, logName);
    if (namesAfter.join('\n') === names.join('\n') || tries === listingsMax) return entries.filter((entry) => entry !== null);
    names = namesAfter;
  }
}

async function namesOf(directory: string, logName: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => isOfLog(name, logName)).sort();
}

/** Its size is that of its content. null if it is gone, or no regular file. */
export async function entryOf(directory: string, name: string): Promise<LogEntry | null> {
  const path = join(directory, name);
  const stats = await lstat(path).catch(() => null);
  if (stats?.isFile() !== true) return null;
  return { name, identity: identityOf(stats), sizeBytes: isCompressed(name) ? await contentBytes(path, stats.size) : stats.size };
}

/** A compressed file ends with the size of its content; 0 where that can't be read. */
async function contentBytes(path: string, size: number): Promise<number> {
  if (size < trailerBytes) return 0;
  const handle = await open(path, openFlags).catch(() => null);
  if (handle === null) return 0;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(trailerBytes), 0, trailerBytes, size - trailerBytes);
    return bytesRead === trailerBytes ? buffer.readUInt32LE() : 0;
  } catch {
    return 0;
  } finally {
    await handle.close();
  }
}

/** The beginning of a compressed file; null if it is gone. */
export async function compressedHeadOf(directory: string, name: string): Promise<string | null> {
  const beginning = await compressedHead(join(directory, name), headBytes);
  return beginning === null ? null : headText(beginning);
}

/** The newest file, while it has no distinctive beginning. It is kept open: it may be compressed under another name later. */
export class HeadlessLog {
  private constructor(
    readonly identity: string,
    private readonly handle: FileHandle,
  ) {}

  /** null: it is gone, or another file. */
  static async open(directory: string, { name, identity }: LogEntry): Promise<HeadlessLog | null> {
    const handle = await open(join(directory, name), openFlags).catch(() => null);
    if (handle === null) return null;
    if (identityOf(await handle.stat()) === identity) return new HeadlessLog(identity, handle);
    await handle.close();
    return null;
  }

  /** '' while the file is empty. */
  async head(): Promise<string> {
    const { buffer, bytesRead } = await this.handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return headText(buffer.subarray(0, bytesRead));
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
