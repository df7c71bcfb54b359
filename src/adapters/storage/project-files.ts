// /etc/projects and /etc/projid, which other programs write too: locked as the Go kubelet locks them, read, and replaced whole.
// Invariants: one change at a time on the host; the directories' lines are written before the names and removed after them, so that
// the remainder of an interrupted change is found by its line; neither file may be a link; an unchanged file isn't written.
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { FileLock } from '../native-linux/index.js';
import { DirectoryHandle } from './directory-handle.js';
import { errnoName, FileRefusal } from './file-errors.js';
import type { ProjectTexts } from './project-lines.js';
import { replaceFileDurably } from './replace-file.js';

const projectsName = 'projects';
const projidName = 'projid';
const fileBytesMax = 16 * 1024 * 1024;
const lockPauseMillis = 10;
const lockPatienceMillis = 5_000;
const lockFlags = constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const newFileMode = 0o644;

type Change = (texts: ProjectTexts) => Promise<ProjectTexts>;

export class ProjectFiles {
  private waiting: { readonly change: Change; readonly settle: (failure: unknown) => void }[] = [];
  private working = false;

  constructor(
    /** `/etc`. */
    private readonly directory: string,
    private readonly locks: FileLock,
    private readonly patienceMillis = lockPatienceMillis,
  ) {}

  /** The current file, without a lock; '' if absent. */
  projects(): string {
    return this.read(projectsName).text;
  }

  /** Resolves when the result of `change` is on the disk. Its exceptions are passed on, without any change of the files. */
  change(change: Change): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ change, settle: (failure) => (failure === null ? resolve() : reject(failure)) });
      if (!this.working) void this.work();
    });
  }

  private async work(): Promise<void> {
    this.working = true;
    for (let changes = this.waiting; changes.length > 0; changes = this.waiting) {
      this.waiting = [];
      const failures = new Map<Change, unknown>();
      const failed = await this.carryOut(
        changes.map(({ change }) => change),
        failures,
      );
      for (const { change, settle } of changes) settle(failed ?? failures.get(change) ?? null);
    }
    this.working = false;
  }

  /** Writes all waiting changes together. Returns the error that applies to all of them. */
  private async carryOut(changes: readonly Change[], failures: Map<Change, unknown>): Promise<unknown> {
    const held: number[] = [];
    try {
      // In the Go kubelet's order: different orders would deadlock.
      for (const name of [projectsName, projidName]) held.push(await this.locked(name));
      const [projects, projid] = [this.read(projectsName), this.read(projidName)];
      const before: ProjectTexts = { projects: projects.text, projid: projid.text };
      let after = before;
      for (const change of changes) {
        try {
          after = await change(after);
        } catch (error) {
          failures.set(change, error);
        }
      }
      await this.write(before, after, { [projectsName]: projects.mode, [projidName]: projid.mode });
      return null;
    } catch (error) {
      return error;
    } finally {
      for (const fd of held.reverse()) closeSync(fd);
    }
  }

  private async write(before: ProjectTexts, after: ProjectTexts, modes: Readonly<Record<string, number>>): Promise<void> {
    const names = after.projects.length < before.projects.length ? ([projidName, projectsName] as const) : ([projectsName, projidName] as const);
    const directory = DirectoryHandle.existing(this.directory);
    try {
      for (const name of names) if (after[name] !== before[name]) await replaceFileDurably(directory, name, Buffer.from(after[name], 'latin1'), modes[name] ?? newFileMode);
    } finally {
      directory.close();
    }
  }

  /** A waiter may have got the lock of a file that was replaced meanwhile: only a lock of the file at the path counts. */
  private async locked(name: string): Promise<number> {
    const path = `${this.directory}/${name}`;
    for (let waited = 0; ; waited += lockPauseMillis) {
      const fd = this.opened(path);
      let isLocked = false;
      try {
        isLocked = (await this.locks.tryLock(fd)) && isSame(fd, path);
      } finally {
        if (!isLocked) closeSync(fd);
      }
      if (isLocked) return fd;
      if (waited >= this.patienceMillis) throw new FileRefusal('unavailable', `${path} is locked by another process`);
      await delay(lockPauseMillis);
    }
  }

  private opened(path: string): number {
    this.checkPlain(path);
    return openSync(path, lockFlags, newFileMode);
  }

  private checkPlain(path: string): void {
    let isPlain = true;
    try {
      isPlain = lstatSync(path).isFile();
    } catch (error) {
      if (errnoName(error) !== 'ENOENT') throw error;
    }
    if (!isPlain) throw new FileRefusal('failed-precondition', `${path} exists but is not a plain file, cannot continue`);
  }

  private read(name: string): { readonly text: string; readonly mode: number } {
    const path = `${this.directory}/${name}`;
    this.checkPlain(path);
    let fd: number;
    try {
      fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      if (errnoName(error) === 'ENOENT') return { text: '', mode: newFileMode };
      throw error;
    }
    try {
      const { size, mode } = fstatSync(fd);
      if (size > fileBytesMax) throw new FileRefusal('resource-exhausted', `${path} has more than ${fileBytesMax} bytes`);
      return { text: readFileSync(fd, 'latin1'), mode: mode & 0o7777 };
    } finally {
      closeSync(fd);
    }
  }
}

function isSame(fd: number, path: string): boolean {
  const [held, found] = [fstatSync(fd, { bigint: true }), lstatSync(path, { bigint: true, throwIfNoEntry: false })];
  return found !== undefined && held.ino === found.ino && held.dev === found.dev;
}
