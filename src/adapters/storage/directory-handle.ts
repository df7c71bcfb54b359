// An open directory, and operations in it by name. Paths below a root are walked one element at a time, each opened
// below the descriptor of the previous one and never through a symbolic link, so that exchanging a directory for a link has no effect.
// Invariant: a name that reaches the kernel is one element: no slash, no NUL, not `.` or `..`.
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { openPathFlag } from '../native-linux/index.js';
import { errnoName, FileRefusal } from './file-errors.js';
import { descriptorOpened } from './go-file-text.js';

const asDirectory = openPathFlag | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const flushed = promisify(fsync);
/** NAME_MAX of the file systems in use, in bytes. */
export const nameBytesMax = 255;

/** Refuses anything but a single file name. */
export function checkName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0'))
    throw new FileRefusal('invalid-argument', `${JSON.stringify(name)} is no file name`);
  if (Buffer.byteLength(name) > nameBytesMax) throw new FileRefusal('invalid-argument', `a file name has at most ${nameBytesMax} bytes: ${JSON.stringify(name.slice(0, 40))}...`);
  return name;
}

export class DirectoryHandle {
  private open = true;

  private constructor(
    private readonly fd: number,
    /** The path when it was opened; `where` returns the current one. */
    readonly path: string,
  ) {
    descriptorOpened(fd, path);
  }

  /** For step lists that begin here. */
  get descriptor(): number {
    return this.fd;
  }

  /** The root of a tree: the operator's choice, so links in it are followed. Made, with its parents, when absent. */
  static root(path: string, mode: number): DirectoryHandle {
    mkdirSync(path, { recursive: true, mode });
    return new DirectoryHandle(openSync(path, openPathFlag | constants.O_DIRECTORY), path);
  }

  /** An existing directory, by a path without links at its end. */
  static existing(path: string): DirectoryHandle {
    return new DirectoryHandle(openSync(path, asDirectory), path);
  }

  /** Idempotent. */
  close(): void {
    if (!this.open) return;
    this.open = false;
    closeSync(this.fd);
  }

  /** A path that names an entry of this very directory, for calls of Node that take no descriptor. */
  at(name: string): string {
    return `/proc/self/fd/${this.fd}/${checkName(name)}`;
  }

  /** Exactly this mode, on this directory even if its name leads elsewhere by now. */
  setMode(mode: number): void {
    chmodSync(`/proc/self/fd/${this.fd}`, mode);
  }

  /** The directory's current path. */
  where(): string {
    return readlinkSync(`/proc/self/fd/${this.fd}`);
  }

  /** The directory of that name. `permission-denied` when it is a symbolic link. */
  enter(name: string): DirectoryHandle {
    const path = this.at(name);
    try {
      return new DirectoryHandle(openSync(path, asDirectory), `${this.path}/${name}`);
    } catch (error) {
      if (errnoName(error) === 'ENOTDIR' && lstatSync(path).isSymbolicLink()) throw new FileRefusal('permission-denied', `${this.where()}/${name} is a symbolic link`);
      throw error;
    }
  }

  /** The same, or null if absent. */
  enterIfPresent(name: string): DirectoryHandle | null {
    try {
      return this.enter(name);
    } catch (error) {
      if (errnoName(error) === 'ENOENT') return null;
      throw error;
    }
  }

  /** Makes the directory if absent, and enters it. */
  ensure(name: string, mode: number): DirectoryHandle {
    try {
      mkdirSync(this.at(name), { mode });
    } catch (error) {
      if (errnoName(error) !== 'EEXIST') throw error;
    }
    return this.enter(name);
  }

  entries(): Dirent[] {
    return readdirSync(`/proc/self/fd/${this.fd}`, { withFileTypes: true });
  }

  /** Names of the directories in it, sorted. */
  directoryNames(): string[] {
    return this.entries()
      .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
      .sort();
  }

  /** The status of the entry, of a link itself; null if absent. */
  look(name: string): BigIntStats | null {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false }) ?? null;
  }

  linkTarget(name: string): string {
    return readlinkSync(this.at(name));
  }

  link(name: string, target: string): void {
    symlinkSync(target, this.at(name));
  }

  rename(from: string, to: string): void {
    renameSync(this.at(from), this.at(to));
  }

  /** Absent: succeeds. */
  unlink(name: string): void {
    ignoringAbsence(() => unlinkSync(this.at(name)));
  }

  /** Only an empty one. Succeeds if absent. */
  removeDirectory(name: string): void {
    ignoringAbsence(() => rmdirSync(this.at(name)));
  }

  /** Brings the entries themselves (names, renames) to the disk. */
  async flush(): Promise<void> {
    const fd = openSync(`/proc/self/fd/${this.fd}`, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await flushed(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** The mount that the directory is on. A bind of the same file system has the same device number, but never the same mount. */
  mountId(): number {
    const id = /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${this.fd}`, 'latin1'))?.[1];
    if (id === undefined) throw new FileRefusal('internal', 'the kernel names no mount for a descriptor');
    return Number(id);
  }
}

/** Uses a directory and always closes it. */
export function using<T>(directory: DirectoryHandle, work: (directory: DirectoryHandle) => T): T {
  try {
    return work(directory);
  } finally {
    directory.close();
  }
}

/** The same along several elements; null when one of them is absent. */
export function walking<T>(from: DirectoryHandle, elements: readonly string[], work: (directory: DirectoryHandle) => T): T | null {
  const [first, ...rest] = elements;
  if (first === undefined) return work(from);
  const next = from.enterIfPresent(first);
  return next === null ? null : using(next, (directory) => walking(directory, rest, work));
}

/** The same, making absent directories. */
export function making<T>(from: DirectoryHandle, elements: readonly string[], mode: number, work: (directory: DirectoryHandle) => T): T {
  const [first, ...rest] = elements;
  return first === undefined ? work(from) : using(from.ensure(first, mode), (directory) => making(directory, rest, mode, work));
}

function ignoringAbsence(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (errnoName(error) !== 'ENOENT') throw error;
  }
}
