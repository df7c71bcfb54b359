// Configuration files and drop-in directories of a real file system.
// Invariant: file system errors are values, not exceptions, in the words that users know (`open F: no such file or directory`).
import { closeSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ConfigurationFile, ConfigurationSource, DropInListing } from '../../ports/outbound/configuration-source.js';
import { decodeText, EncodingError } from '../text/index.js';
import { maxDocumentBytes, parseYaml } from '../yaml/index.js';

const dropInSuffix = '.conf';
const chunkBytes = 64 * 1024;
/** A drop-in tree is a handful of files; a larger one is the wrong directory. */
const maxDropInEntries = 10_000;

export class FileConfigurationSource implements ConfigurationSource {
  private readonly workingDirectory: string;

  constructor(workingDirectory: string = process.cwd()) {
    this.workingDirectory = workingDirectory;
  }

  readFile(name: string): ConfigurationFile {
    return readDocument(resolve(this.workingDirectory, name));
  }

  /** The file of that name, or those in the directory of that name whose own names end in one of the suffixes, in order of name; not below it. */
  readFileOrDirectory(name: string, suffixes: readonly string[]): readonly ConfigurationFile[] {
    const path = resolve(this.workingDirectory, name);
    let names: string[];
    try {
      names = readdirSync(path, { withFileTypes: true }).flatMap((entry) => (!entry.isDirectory() && suffixes.some((suffix) => entry.name.endsWith(suffix)) ? [entry.name] : []));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [readDocument(path)];
      return [{ ok: false, path, error: systemError(error, 'open', path) }];
    }
    return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map((each) => readDocument(join(path, each)));
  }

  readDropIns(directory: string): DropInListing {
    const walk = new DropInWalk(this.workingDirectory);
    const error = walk.visitRoot(directory);
    return { files: walk.files, skipped: walk.skipped, error };
  }
}

function readDocument(path: string): ConfigurationFile {
  let bytes: Buffer;
  try {
    bytes = readBounded(path);
  } catch (error) {
    return { ok: false, path, error: systemError(error, 'open', path) };
  }
  const decoded = decodeText(bytes);
  return { ok: true, path, text: decoded.ok ? decoded.text : bytes.toString('utf8'), parsed: parseYaml(bytes) };
}

/** One byte more than a document may have is enough to refuse it; a device or a pipe never ends. */
function readBounded(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    while (size <= maxDocumentBytes) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, maxDocumentBytes + 1 - size));
      const read = readSync(file, chunk);
      if (read === 0) break;
      chunks.push(chunk.subarray(0, read));
      size += read;
    }
    return Buffer.concat(chunks);
  } finally {
    closeSync(file);
  }
}

class DropInWalk {
  readonly files: ConfigurationFile[] = [];
  readonly skipped: string[] = [];
  private readonly workingDirectory: string;
  private entries = 0;

  constructor(workingDirectory: string) {
    this.workingDirectory = workingDirectory;
  }

  /** The root is not followed if it is a link, as every directory below. */
  visitRoot(path: string): string | null {
    try {
      const isDirectory = lstatSync(this.absolute(path)).isDirectory();
      return isDirectory ? this.visitDirectory(path) : this.visitFile(path);
    } catch (error) {
      return systemError(error, 'lstat', path);
    }
  }

  private visitDirectory(path: string): string | null {
    let entries: { readonly name: string; readonly isDirectory: boolean }[];
    try {
      entries = readdirSync(this.absolute(path), { withFileTypes: true }).map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }));
    } catch (error) {
      return systemError(error, 'open', path);
    }
    entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
    for (const { name, isDirectory } of entries) {
      if (++this.entries > maxDropInEntries) return `more than ${maxDropInEntries} entries`;
      const below = join(path, name);
      const error = isDirectory ? this.visitDirectory(below) : this.visitFile(below);
      if (error !== null) return error;
    }
    return null;
  }

  private visitFile(path: string): null {
    if (!path.endsWith(dropInSuffix)) {
      this.skipped.push(path);
      return null;
    }
    const file = readDocument(this.absolute(path));
    this.files.push({ ...file, path });
    return null;
  }

  private absolute(path: string): string {
    return resolve(this.workingDirectory, path);
  }
}

const words: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
  ELOOP: 'too many levels of symbolic links',
  ENAMETOOLONG: 'file name too long',
  EIO: 'input/output error',
  EMFILE: 'too many open files',
};

/** `open F: no such file or directory`; a directory is opened well and fails when it is read. */
export function systemError(error: unknown, operation: string, path: string): string {
  if (error instanceof EncodingError) return error.message;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === '') throw error;
  return `${code === 'EISDIR' ? 'read' : operation} ${path}: ${words[code] ?? code}`;
}
