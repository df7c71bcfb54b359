// Replaces a file atomically: the new content is written beside it and renamed over it, so that a reader sees the old one or the new one, never
// half of either. A kill leaves at most the temporary file, which the next write removes.
// Invariant: one writer a directory; the temporary of a file has one name.
import { closeSync, constants, fchmodSync, fsync, openSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { type DirectoryHandle, nameBytesMax } from './directory-handle.js';
import { FileRefusal } from './file-errors.js';
import { named } from './go-file-text.js';

const prefix = '.';
const suffix = '.tmp';
const exclusive = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const flushed = promisify(fsync);

function temporaryOf(name: string): string {
  if (Buffer.byteLength(name) > nameBytesMax - prefix.length - suffix.length) throw new FileRefusal('invalid-argument', `too long a name for a file that is replaced: ${name}`);
  return `${prefix}${name}${suffix}`;
}

export function isTemporary(name: string): boolean {
  return name.startsWith(prefix) && name.endsWith(suffix) && name.length > prefix.length + suffix.length;
}

/** For state: on the disk when it returns, also after a power loss. The file's flush, which can take long, does not block the loop. */
export async function replaceFileDurably(directory: DirectoryHandle, name: string, content: string | Uint8Array, mode: number): Promise<void> {
  const temporary = temporaryOf(name);
  const fd = writeTemporary(directory, temporary, content, mode);
  try {
    await flushed(fd);
  } finally {
    closeSync(fd);
  }
  directory.rename(temporary, name);
  await directory.flush();
}

function writeTemporary(directory: DirectoryHandle, temporary: string, content: string | Uint8Array, mode: number): number {
  directory.unlink(temporary);
  const fd = openSync(directory.at(temporary), exclusive, mode);
  try {
    named(directory.at(temporary), () => writeFileSync(fd, content));
    fchmodSync(fd, mode);
    return fd;
  } catch (error) {
    closeSync(fd);
    directory.unlink(temporary);
    throw error;
  }
}
