// Parts of volumes, bind-mounted below a pod's own directory. A container may exchange anything in its volumes at any moment, so paths there are
// opened element by element, never through a link, and the opened object is bind-mounted.
// Invariant: nothing outside the named volume is made or bound, and nothing outside `pods/<uid>/volume-subpaths` is removed.
import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, readFileSync, readlinkSync, rmdirSync } from 'node:fs';
import type { Call, PortOf } from '../../ports/operation.js';
import type { MountOperations } from '../../ports/outbound/mounts.js';
import type { PathEntry, SubPathOperations, SubPathStep } from '../../ports/outbound/pod-volumes.js';
import { openPathFlag, parseMountinfo, type Trees } from '../native-linux/index.js';
import { checkName, DirectoryHandle, making, using, walking } from './directory-handle.js';
import { carryOut, errnoName, FileRefusal } from './file-errors.js';

const directoryMode = 0o750;
const permissionBits = 0o7777;

export class FileSubPaths implements PortOf<SubPathOperations> {
  private constructor(
    private readonly pods: DirectoryHandle,
    private readonly podsPath: string,
    private readonly mounts: PortOf<MountOperations>,
    private readonly trees: Trees,
  ) {}

  /** Makes the roots if absent. Throws the kernel's error. */
  static open({ rootDirectory }: { readonly rootDirectory: string }, mounts: PortOf<MountOperations>, trees: Trees): FileSubPaths {
    const pods = using(DirectoryHandle.root(rootDirectory, directoryMode), (root) => root.ensure('pods', directoryMode));
    return new FileSubPaths(pods, `${rootDirectory.replace(/\/+$/, '')}/pods`, mounts, trees);
  }

  close(): void {
    this.pods.close();
  }

  look({ path }: { readonly path: string }, call: Call): Promise<SubPathOperations['look']['reply']> {
    return carryOut('subPaths.look', path, call, async () => {
      const followed = await this.trees.status(path, true).catch(() => null);
      return { entry: entryOf((await this.trees.status(path, false))?.mode ?? null, path), mode: (followed?.mode ?? 0) & permissionBits };
    });
  }

  compare({ source, target }: SubPathOperations['compare']['request'], call: Call): Promise<SubPathOperations['compare']['reply']> {
    return carryOut('subPaths.compare', target, call, async () => {
      if (!mountPoints().has(this.asTheKernelNames(target))) return 'none';
      const [wanted, mounted] = await Promise.all([source, target].map((path) => this.trees.status(path, false)));
      return wanted != null && mounted != null && wanted.device === mounted.device && wanted.inode === mounted.inode ? 'same-file' : 'other-file';
    });
  }

  carryOut({ uid, steps }: SubPathOperations['carryOut']['request'], call: Call): Promise<null> {
    return carryOut('subPaths.carryOut', uid, call, async () => {
      checkName(uid);
      for (const step of steps) {
        // With a dead server this blocks a thread of its own, not the loop.
        if ('root' in step) await this.trees.status(step.root, true);
        await this.step(uid, step, call);
      }
      return null;
    });
  }

  private async step(uid: string, step: SubPathStep, call: Call): Promise<void> {
    switch (step.operation) {
      case 'make-directory':
        inVolume(step.root, step.path, (parent, name) => {
          mkdirSync(parent.at(name), { mode: step.mode & 0o777 });
          using(parent.enter(name), (directory) => directory.setMode(step.mode));
        });
        return;
      case 'ensure-directory':
        making(this.pods, [uid, ...this.below(uid, step.path)], step.mode, () => null);
        return;
      case 'ensure-file':
        this.inParent(uid, step.path, (parent, name) =>
          closeSync(openSync(parent.at(name), constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK, step.mode)),
        );
        return;
      case 'unmount':
        this.below(uid, step.path);
        await this.mounts.unmount({ target: step.path, force: false }, call);
        return;
      case 'bind':
        this.below(uid, step.target);
        await this.bind(step, call);
        return;
      case 'remove':
        this.inParent(uid, step.path, (parent, name) => (parent.look(name)?.isDirectory() === true ? parent.removeDirectory(name) : parent.unlink(name)));
        return;
      case 'remove-if-empty':
        this.inParent(uid, step.path, (parent, name) => {
          try {
            rmdirSync(parent.at(name));
          } catch (error) {
            if (!['ENOENT', 'ENOTEMPTY'].includes(errnoName(error))) throw error;
          }
        });
    }
  }

  private async bind({ root, source, target }: Extract<SubPathStep, { operation: 'bind' }>, call: Call): Promise<void> {
    const fd =
      source === root
        ? openSync(root, openPathFlag | constants.O_NOFOLLOW)
        : inVolume(root, source, (parent, name) => openSync(parent.at(name), openPathFlag | constants.O_NOFOLLOW));
    try {
      const opened = fstatSync(fd, { bigint: true });
      if (opened.isSymbolicLink()) throw new FileRefusal('permission-denied', `${source} is a symbolic link`);
      // Not /proc/self: without the addon another process mounts.
      await this.mounts.bind({ source: `/proc/${process.pid}/fd/${fd}`, target, recursive: false, options: [] }, call);
      const bound = lstatSync(target, { bigint: true });
      if (bound.dev === opened.dev && bound.ino === opened.ino) return;
      await this.mounts.unmount({ target, force: false }, call);
      throw new FileRefusal('permission-denied', `${source} was exchanged while it was bound`);
    } finally {
      closeSync(fd);
    }
  }

  /** The table of mounts knows no links, and there may be some above the pods' directory. */
  private asTheKernelNames(path: string): string {
    return path.startsWith(`${this.podsPath}/`) ? `${this.pods.where()}${path.slice(this.podsPath.length)}` : path;
  }

  private inParent(uid: string, path: string, work: (parent: DirectoryHandle, name: string) => void): void {
    const elements = this.below(uid, path);
    walking(this.pods, [uid, ...elements.slice(0, -1)], (parent) => work(parent, elements.at(-1) ?? ''));
  }

  /** The elements below the pod's directory, of which the first is its directory of sub paths. */
  private below(uid: string, path: string): string[] {
    const prefix = `${this.podsPath}/${uid}/`;
    const elements = path.startsWith(prefix) ? path.slice(prefix.length).split('/').map(checkName) : [];
    if (elements[0] !== 'volume-subpaths') throw new FileRefusal('permission-denied', `${path} is not below ${prefix}volume-subpaths`);
    return elements;
  }
}

/** @param mode null: absent */
function entryOf(mode: number | null, path: string): PathEntry {
  if (mode === null) return { kind: 'absent' };
  switch (mode & constants.S_IFMT) {
    case constants.S_IFLNK:
      return { kind: 'symlink', target: readlinkSync(path) };
    case constants.S_IFDIR:
      return { kind: 'directory' };
    default:
      return { kind: (mode & constants.S_IFMT) === constants.S_IFREG ? 'file' : 'other' };
  }
}

/** Opens the parent of a path below `root`, no element of which may be a link. */
function inVolume<T>(root: string, path: string, work: (parent: DirectoryHandle, name: string) => T): T {
  if (!path.startsWith(root === '/' ? root : `${root}/`)) throw new FileRefusal('permission-denied', `${path} is not below ${root}`);
  const elements = path
    .slice(root === '/' ? 1 : root.length + 1)
    .split('/')
    .map(checkName);
  return using(DirectoryHandle.existing(root), (directory) => {
    const done = walking(directory, elements.slice(0, -1), (parent) => ({ value: work(parent, elements.at(-1) ?? '') }));
    if (done === null) throw new FileRefusal('not-found', `${path}: no such file or directory`);
    return done.value;
  });
}

/** All of them, from the kernel's table: none is touched, since its file system may not answer. */
export function mountPoints(): ReadonlySet<string> {
  return new Set(parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).map(({ mountPoint }) => mountPoint));
}
