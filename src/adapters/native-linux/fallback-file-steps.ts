// Lists of steps in plain Node, one promise after the other: at several times the cost, and as little in the event loop's way.
// Invariant: the same outcomes as the addon's (native/file_steps.cc), step by step; every descriptor is closed at the end.
import { constants, type Dirent, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readFile, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { openPathFlag } from './beneath.js';
import { errno } from './errno.js';
import { type FileStep, FileStepOutcomes, type FileStepRunner, type FileSteps, isTolerated, notDone, removesFilesBit, type Slot } from './file-steps.js';
import { parseMountinfo } from './mountinfo.js';

const asDirectory = openPathFlag | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const permissionBits = 0o7777;
const ownDescriptors = '/proc/self/fd/';
/** A directory that is open already: a link, but the kernel's own. */
const isSlot = /^\/proc\/self\/fd\/\d+$/;

interface Outcome {
  readonly status: number;
  readonly text: string;
}

const done: Outcome = { status: 0, text: '' };

export class FallbackFileSteps implements FileStepRunner {
  async run(list: FileSteps): Promise<FileStepOutcomes> {
    const slots = new Slots(list.roots.map(({ descriptor }) => descriptor));
    const [statuses, texts]: [number[], string[]] = [[], []];
    let ended = false;
    try {
      for (const step of list.steps) {
        const directory = slots.directoryOf(step.directory);
        const outcome: Outcome = ended || directory === null ? { status: notDone, text: '' } : await carriedOut(step, directory, slots);
        // An entered directory has a slot, present or not.
        if (step.kind === 'enter' && outcome.status !== 0) slots.add(null);
        ended ||= outcome.status !== notDone && !isTolerated(outcome.status, step.tolerated);
        statuses.push(outcome.status);
        texts.push(outcome.text);
      }
    } finally {
      await slots.close();
    }
    return new FileStepOutcomes(statuses, texts);
  }
}

/** The directories of one list. */
class Slots {
  private readonly entered: (FileHandle | null)[] = [];

  constructor(private readonly roots: readonly number[]) {}

  /** A path to put a name behind; '' for absolute names, null when the directory is absent. */
  directoryOf(slot: Slot): string | null {
    if (slot < 0) return '';
    const fd = slot < this.roots.length ? this.roots[slot] : this.entered[slot - this.roots.length]?.fd;
    return fd === undefined ? null : `${ownDescriptors}${fd}`;
  }

  add(directory: FileHandle | null): void {
    this.entered.push(directory);
  }

  async close(): Promise<void> {
    for (const directory of this.entered) await directory?.close();
  }
}

async function carriedOut(step: FileStep, directory: string, slots: Slots): Promise<Outcome> {
  try {
    return await carryOut(step, directory, directory === '' ? step.name : step.name === '' ? directory : `${directory}/${step.name}`, slots);
  } catch (error) {
    if (error instanceof FailedAt) return { status: error.status, text: error.path };
    return { status: statusOf(error), text: '' };
  }
}

class FailedAt extends Error {
  constructor(
    readonly status: number,
    readonly path: string,
  ) {
    super(path);
  }
}

/** Negative errno of an error of Node's. */
function statusOf(error: unknown): number {
  const number = (error as NodeJS.ErrnoException).errno;
  if (number === undefined) throw error;
  return number;
}

async function carryOut(step: FileStep, directory: string, path: string, slots: Slots): Promise<Outcome> {
  const { number, text } = step;
  switch (step.kind) {
    case 'enter':
      slots.add(await entered(path));
      return done;
    case 'makeDirectory':
      await mkdir(path, { mode: number });
      return done;
    case 'look':
      return { status: (await lstat(path)).mode, text: '' };
    case 'list':
      return { status: 0, text: await listing(path, number === 1) };
    case 'read': {
      const content = await contentOf(path, number);
      return { status: Buffer.byteLength(content), text: content };
    }
    case 'create':
      await create(path, number, text);
      return done;
    case 'replace':
      return { status: await replace(directory, step), text: '' };
    case 'write':
      await writeInto(path, text);
      return done;
    case 'unlink':
      await unlink(path);
      return done;
    case 'removeDirectory':
      await rmdir(path);
      return done;
    case 'rename':
      await rename(path, `${directory}/${text}`);
      return done;
    case 'link':
      await symlink(text, path);
      return done;
    case 'readLink':
      return { status: 0, text: await readlink(path) };
    case 'removeTree':
      await removeTree(directory, step.name, number % removesFilesBit, number >= removesFilesBit);
      return done;
    case 'removeDirectories':
      return { status: (await removeDirectories(path, number)) ? 1 : 0, text: '' };
    case 'noMountBelow':
      await checkNoMountBelow(path);
      return done;
  }
}

async function entered(path: string): Promise<FileHandle> {
  try {
    return await open(path, asDirectory);
  } catch (error) {
    if (statusOf(error) === -errno.ENOTDIR && (await lstat(path)).isSymbolicLink()) throw new FailedAt(-errno.ELOOP, '');
    throw error;
  }
}

async function listing(path: string, directoriesOnly: boolean): Promise<string> {
  const entries = await entriesOf(path);
  const wanted = directoriesOnly ? entries.filter((entry) => entry.isDirectory()) : entries;
  return wanted.map((entry) => `${entry.isDirectory() ? 'd' : '-'}${entry.name}`).join('/');
}

async function entriesOf(path: string): Promise<Dirent[]> {
  const directory = await open(path, isSlot.test(path) ? constants.O_DIRECTORY : constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return await readdir(`${ownDescriptors}${directory.fd}`, { withFileTypes: true });
  } finally {
    await directory.close();
  }
}

async function contentOf(path: string, bytesMax: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new FailedAt(-errno.EINVAL, '');
    const content = await file.readFile();
    if (content.length > bytesMax) throw new FailedAt(-errno.EFBIG, '');
    return content.toString('utf8');
  } finally {
    await file.close();
  }
}

async function create(path: string, mode: number, content: string): Promise<void> {
  const file = await open(path, newFile, mode);
  try {
    await file.writeFile(content);
    // The umask took bits away.
    await file.chmod(mode);
  } catch (error) {
    await unlink(path);
    throw error;
  } finally {
    await file.close();
  }
}

async function replace(directory: string, { name, number: mode, text }: FileStep): Promise<number> {
  const path = `${directory}/${name}`;
  const present = await lookOrNull(path);
  if (present?.isFile() === true && (present.mode & permissionBits) === mode && present.size === Buffer.byteLength(text) && (await contentOf(path, present.size)) === text)
    return 0;
  const temporary = `${directory}/.${name}.tmp`;
  await absentIsFine(unlink(temporary));
  await create(temporary, mode, text);
  await rename(temporary, path);
  return 1;
}

async function writeInto(path: string, content: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_NOFOLLOW);
  try {
    await file.write(content);
  } finally {
    await file.close();
  }
}

async function lookOrNull(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (statusOf(error) === -errno.ENOENT) return null;
    throw error;
  }
}

async function absentIsFine(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (statusOf(error) !== -errno.ENOENT) throw error;
  }
}

/** The kernel's number of the mount that a descriptor is on. */
async function mountOf(fd: string): Promise<string> {
  const text = await readFile(`/proc/self/fdinfo/${fd.slice(fd.lastIndexOf('/') + 1)}`, 'latin1');
  return /^mnt_id:\s*(\d+)/m.exec(text)?.[1] ?? '';
}

/** @param directory `/proc/self/fd/N` */
async function removeTree(directory: string, name: string, levels: number, removesFiles: boolean): Promise<void> {
  const path = `${directory}/${name}`;
  const present = await lookOrNull(path);
  if (present === null) return;
  const isDirectory = present.isDirectory();
  if (!isDirectory && !removesFiles) throw new FailedAt(-errno.ENOTDIR, name);
  try {
    if (isDirectory && levels > 0) await emptyDirectory(directory, name, levels, removesFiles);
    await absentIsFine(isDirectory ? rmdir(path) : unlink(path));
  } catch (error) {
    throw error instanceof FailedAt ? error : new FailedAt(statusOf(error), name);
  }
}

async function emptyDirectory(parent: string, name: string, levels: number, removesFiles: boolean): Promise<void> {
  const directory = await open(`${parent}/${name}`, asDirectory);
  try {
    const below = `${ownDescriptors}${directory.fd}`;
    if ((await mountOf(below)) !== (await mountOf(parent))) throw new FailedAt(-errno.EBUSY, name);
    for (const entry of await readdir(below)) {
      try {
        await removeTree(below, entry, levels - 1, removesFiles);
      } catch (error) {
        throw error instanceof FailedAt ? new FailedAt(error.status, `${name}/${error.path}`) : error;
      }
    }
  } finally {
    await directory.close();
  }
}

async function removeDirectories(path: string, levels: number): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    const status = statusOf(error);
    if (status === -errno.ENOENT) return true;
    if (status !== -errno.EBUSY && status !== -errno.ENOTEMPTY) throw error;
  }
  if (levels === 0) return false;
  const children = (await listing(path, true)).split('/').filter(Boolean);
  if (children.length === 0) return false;
  for (const child of children) if (!(await removeDirectories(`${path}/${child.slice(1)}`, levels - 1))) return false;
  return removeDirectories(path, 0);
}

async function checkNoMountBelow(path: string): Promise<void> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const found = mounts.find(({ mountPoint }) => mountPoint === path || mountPoint.startsWith(`${path}/`));
  if (found !== undefined) throw new FailedAt(-errno.EBUSY, found.mountPoint);
}
