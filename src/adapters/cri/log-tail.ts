// The end of a dead container's log, for its termination message. Reads the file backwards to where its last lines begin, then forward.
// Invariant: reads at most `maxReadBytes`, and opens nothing that isn't a regular file.

import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { type LogLineParser, logLineParserFor } from '../../domain/values/container-log-line.js';
import { goQuote } from '../../domain/values/go-text.js';

/** 80 lines of 16 KiB, the longest that runtimes write, with room. */
const maxReadBytes = 4 * 1024 * 1024;
const blockBytes = 64 * 1024;
const newline = 0x0a;

/** The content of the last `maxLines` lines of both streams, cut to its last `maxBytes`. Throws an Error whose message is for users. */
export async function readLogTail(path: string, maxLines: number, maxBytes: number): Promise<Buffer> {
  const real = await realpath(path).catch((error: unknown) => {
    throw new Error(`failed to try resolving symlinks in path ${goQuote(path)}: lstat ${path}: ${systemErrorText(error)}`);
  });
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw new Error(`failed to open log file ${goQuote(path)}: open ${real}: ${systemErrorText(error)}`);
  });
  try {
    if (!(await file.stat()).isFile()) throw new Error(`failed to open log file ${goQuote(path)}: not a regular file`);
    return tailOf(await lastLines(file, maxLines), maxLines, maxBytes);
  } finally {
    await file.close();
  }
}

/** The bytes from the start of the last `maxLines` ended lines to the end of the file. */
async function lastLines(file: FileHandle, maxLines: number): Promise<Buffer> {
  const { size } = await file.stat();
  const blocks: Buffer[] = [];
  let start = size;
  let ends = 0;
  while (start > 0 && size - start < maxReadBytes) {
    const length = Math.min(blockBytes, start);
    const block = await readAt(file, start - length, length);
    start -= length;
    // The newline that ends the line before the wanted ones is one more than are wanted.
    for (let i = block.length - 1; i >= 0; i--) {
      if (block[i] !== newline || ++ends <= maxLines) continue;
      blocks.unshift(block.subarray(i + 1));
      return Buffer.concat(blocks);
    }
    blocks.unshift(block);
  }
  return Buffer.concat(blocks);
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break; // shortened meanwhile
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function tailOf(bytes: Buffer, maxLines: number, maxBytes: number): Buffer {
  let parse: LogLineParser | null = null;
  const contents: Uint8Array[] = [];
  for (let start = 0; start < bytes.length && contents.length < maxLines; ) {
    const at = bytes.indexOf(newline, start);
    const end = at < 0 ? bytes.length : at + 1;
    const line = bytes.subarray(start, end);
    start = end;
    parse ??= logLineParserFor(line);
    if (parse === null) throw new Error(`failed to get parse function: unsupported log format: ${goQuote(line.toString('utf8'))}`);
    const parsed = parse(line);
    if (parsed !== null) contents.push(parsed.content);
  }
  const all = Buffer.concat(contents);
  return all.subarray(Math.max(0, all.length - maxBytes));
}

/** The kernel's own words for an error number, as users know them from the kubelet. */
export function systemErrorText(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
  return systemErrors[code] ?? (error instanceof Error ? error.message : String(error));
}

const systemErrors: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
  ELOOP: 'too many levels of symbolic links',
  EIO: 'input/output error',
};
