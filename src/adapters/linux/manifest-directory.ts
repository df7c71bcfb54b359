// The manifest directory (or file) on a Linux host: listing, reading, watching.
// Invariant: no file can block or overload the agent: only regular files are read, without blocking on anything else, and only up to the limit.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Call, PortOf } from '../../ports/operation.js';
import type { FileWatch, FileWatchEvent, FileWatchListener } from '../../ports/outbound/file-watch.js';
import type { ManifestContent, ManifestDirectoryOperations, ManifestFile, ManifestListing, ManifestsChanged } from '../../ports/outbound/manifests.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { manifestContentOf, maxManifestBytes, tooLargeMessage } from './manifest-content.js';

export interface ManifestDirectoryOptions {
  /** Opens a watch; none means that changes are found by listing alone. */
  readonly openFileWatch: ((listener: FileWatchListener) => FileWatch) | null;
  /** Receives the watch's events. */
  readonly deliver: (event: ManifestsChanged) => void;
}

interface ReadFile {
  readonly identity: string;
  readonly content: ManifestContent;
}

/** A file changed this recently may change again within one tick of its timestamps, so its content isn't cached. */
const settledMs = 2000;
/** Files opened at a time. */
const batch = 16;

export class LinuxManifestDirectory implements PortOf<ManifestDirectoryOperations> {
  readonly #options: ManifestDirectoryOptions;
  readonly #known = new Map<string, ReadFile>();
  #watch: FileWatch | null = null;
  #isClosed = false;

  constructor(options: ManifestDirectoryOptions) {
    this.#options = options;
  }

  async list({ path }: { readonly path: string }, call: Call): Promise<ManifestListing> {
    const info = await this.#statOf(path);
    if (info === null) return { kind: 'absent' };
    if (info.isFile()) return { kind: 'file', file: await this.#read(path) };
    if (!info.isDirectory()) return { kind: 'other' };
    const names = await this.#namesOf(path);
    if (names === null) return { kind: 'absent' };
    const paths = names
      .filter((name) => !name.startsWith('.'))
      .map((name) => join(path, name))
      .sort();
    const files: ManifestFile[] = [];
    for (let i = 0; i < paths.length; i += batch) {
      if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: 'listing manifests was cancelled', operation: 'manifestDirectory.list', subject: path });
      files.push(...(await Promise.all(paths.slice(i, i + batch).map((file) => this.#read(file)))));
    }
    const present = new Set(paths);
    for (const known of [...this.#known.keys()]) if (!present.has(known)) this.#known.delete(known);
    return { kind: 'directory', files };
  }

  readFile({ path }: { readonly path: string }): Promise<ManifestFile> {
    return this.#read(path);
  }

  async watch({ path }: { readonly path: string }): Promise<null> {
    const { openFileWatch } = this.#options;
    if (openFileWatch === null || this.#isClosed) {
      throw new PortError({ kind: 'unimplemented', message: 'there is no file watch', operation: 'manifestDirectory.watch', subject: path });
    }
    try {
      this.#watch ??= openFileWatch((events) => this.#saw(events));
      this.#watch.add(path, 'changes');
    } catch (error) {
      throw portErrorOf(error, 'manifestDirectory.watch', path);
    }
    return null;
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
    this.#watch = null;
  }

  #saw(events: readonly FileWatchEvent[]): void {
    if (this.#isClosed) return;
    // The next `watch` opens another one.
    if (events.some((event) => event.kind === 'failed')) this.#watch = null;
    this.#options.deliver({ type: 'manifests-changed', events });
  }

  async #statOf(path: string): Promise<Stats | null> {
    try {
      return await stat(path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw portErrorOf(error, 'manifestDirectory.list', path);
    }
  }

  async #namesOf(path: string): Promise<string[] | null> {
    try {
      return await readdir(path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw portErrorOf(error, 'manifestDirectory.list', path);
    }
  }

  async #read(path: string): Promise<ManifestFile> {
    let handle: FileHandle | null = null;
    try {
      // Non-blocking, since opening a pipe would wait for its writer.
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
      return { path, content: await this.#contentOf(path, handle) };
    } catch (error) {
      this.#known.delete(path);
      return { path, content: codeOf(error) === 'ENOENT' ? await contentOfMissing(path) : contentOfError(error) };
    } finally {
      await handle?.close();
    }
  }

  async #contentOf(path: string, handle: FileHandle): Promise<ManifestContent> {
    const info = await handle.stat({ bigint: true });
    if (info.isDirectory()) return { kind: 'skipped', message: 'a directory, not a manifest' };
    if (!info.isFile()) return { kind: 'skipped', message: 'not a regular file' };
    if (info.size > BigInt(maxManifestBytes)) return { kind: 'unreadable', message: tooLargeMessage };
    const identity = `${info.dev}:${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`;
    const known = this.#known.get(path);
    if (known?.identity === identity) return known.content;
    const content = manifestContentOf(await readUpTo(handle, maxManifestBytes + 1));
    const isSettled = Date.now() - Number(info.ctimeMs) > settledMs;
    if (isSettled) this.#known.set(path, { identity, content });
    else this.#known.delete(path);
    return content;
  }
}

/** The file may grow while it is read; it isn't followed past the limit. */
async function readUpTo(handle: FileHandle, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  while (total < limit) {
    const buffer = Buffer.allocUnsafe(Math.min(64 * 1024, limit - total));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length);
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    total += bytesRead;
  }
  return Buffer.concat(chunks);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

/** Removed, or a dangling link. */
async function contentOfMissing(path: string): Promise<ManifestContent> {
  const info = await lstat(path).catch(() => null);
  return info === null ? { kind: 'absent' } : { kind: 'unreadable', message: 'a symbolic link to a file that does not exist' };
}

const messages: Readonly<Record<string, ManifestContent>> = {
  EACCES: { kind: 'unreadable', message: 'permission denied' },
  EPERM: { kind: 'unreadable', message: 'operation not permitted' },
  ELOOP: { kind: 'unreadable', message: 'too many levels of symbolic links (a loop?)' },
  EISDIR: { kind: 'skipped', message: 'a directory, not a manifest' },
  ENXIO: { kind: 'skipped', message: 'not a regular file' },
};

function contentOfError(error: unknown): ManifestContent {
  return messages[codeOf(error)] ?? { kind: 'unreadable', message: error instanceof Error ? error.message : String(error) };
}

const kinds: Readonly<Record<string, PortErrorKind>> = {
  ENOENT: 'not-found',
  ENOTDIR: 'not-found',
  EACCES: 'permission-denied',
  EPERM: 'permission-denied',
  EMFILE: 'resource-exhausted',
  ENFILE: 'resource-exhausted',
  ENOSPC: 'resource-exhausted',
  ELOOP: 'failed-precondition',
};

function portErrorOf(error: unknown, operation: string, subject: string): PortError {
  if (error instanceof PortError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new PortError({ kind: kinds[codeOf(error)] ?? 'internal', message, operation, subject, cause: error });
}
