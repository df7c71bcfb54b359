// A directory of small state files (checkpoints, manager states) that survive kill -9 and power loss whole.
// Invariant: writes run one after the other in request order; `open` removes temporary files that a kill left.
import { readFileSync } from 'node:fs';
import { DirectoryHandle } from './directory-handle.js';
import { errnoName, FileRefusal } from './file-errors.js';
import { isTemporary, replaceFileDurably } from './replace-file.js';

/** A state file is kilobytes; a larger one is refused. */
const stateBytesMax = 64 * 1024 * 1024;

export class StateDirectory {
  private last: Promise<void> = Promise.resolve();

  private constructor(private readonly directory: DirectoryHandle) {}

  /** Made with `mode` if absent. Throws the kernel's error. */
  static open(path: string, mode: number): StateDirectory {
    const directory = DirectoryHandle.root(path, mode);
    for (const entry of directory.entries()) if (entry.isFile() && isTemporary(entry.name)) directory.unlink(entry.name);
    return new StateDirectory(directory);
  }

  /** The file's content, null if absent. Refuses a link or anything else but a regular file. */
  read(name: string): Uint8Array | null {
    const entry = this.directory.look(name);
    if (entry === null) return null;
    if (!entry.isFile()) throw new FileRefusal('permission-denied', `${name} is no regular file`);
    if (entry.size > stateBytesMax) throw new FileRefusal('resource-exhausted', `${name} has ${entry.size} bytes`);
    try {
      return readFileSync(this.directory.at(name));
    } catch (error) {
      if (errnoName(error) === 'ENOENT') return null;
      throw error;
    }
  }

  /** Resolves when the content is on the disk under its name. */
  write(name: string, content: string | Uint8Array, mode: number): Promise<void> {
    return this.next(() => replaceFileDurably(this.directory, name, content, mode));
  }

  /** Absent: succeeds. */
  remove(name: string): Promise<void> {
    return this.next(async () => {
      this.directory.unlink(name);
      await this.directory.flush();
    });
  }

  names(): string[] {
    return this.directory
      .entries()
      .flatMap((entry) => (entry.isFile() && !isTemporary(entry.name) ? [entry.name] : []))
      .sort();
  }

  /** After the pending writes. */
  async close(): Promise<void> {
    await this.next(async () => this.directory.close());
  }

  private next(work: () => Promise<void>): Promise<void> {
    const done = this.last.then(work);
    this.last = done.catch(() => undefined);
    return done;
  }
}
