// Rotates the log files of running containers: measures, moves, compresses and removes them. The domain decides what is kept and when.
// Invariants: only files below the logs root are touched, through no symbolic link; a file is removed only after its compressed form is on
// the disk; a cancelled compression's output is removed.
import { constants, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ContainerLogOperations } from '../../ports/outbound/container-logs.js';
import { checkName, DirectoryHandle, walking } from './directory-handle.js';
import { allSteps, carryOut, errnoName, FileRefusal, inSlices } from './file-errors.js';
import { elementsBelow } from './log-places.js';

const directoryMode = 0o755;
const compressedSuffix = '.gz';
const unfinishedSuffix = '.tmp';
const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants;

interface LogPlace {
  readonly directory: readonly string[];
  readonly file: string;
}

export class FileContainerLogs implements PortOf<ContainerLogOperations> {
  private constructor(
    private readonly podLogsDirectory: string,
    private readonly logs: DirectoryHandle,
  ) {}

  /** Makes the directory if absent. Throws the kernel's error. */
  static open(podLogsDirectory: string): FileContainerLogs {
    return new FileContainerLogs(podLogsDirectory, DirectoryHandle.root(podLogsDirectory, directoryMode));
  }

  close(): void {
    this.logs.close();
  }

  /** One stat per path: there may be hundreds, at every interval. */
  measure({ paths }: ContainerLogOperations['measure']['request'], call: Call): Promise<ContainerLogOperations['measure']['reply']> {
    return carryOut('containerLogs.measure', paths[0] ?? '', call, async () => {
      for (const path of paths) this.placeOf(path);
      const sizeBytes: (number | null)[] = [];
      await inSlices('containerLogs.measure', paths[0] ?? '', call, paths, (path) => {
        sizeBytes.push(sizeOf(path));
      });
      return { sizeBytes };
    });
  }

  listRotated({ path }: { readonly path: string }, call: Call): Promise<ContainerLogOperations['listRotated']['reply']> {
    return carryOut('containerLogs.listRotated', path, call, () => {
      const { directory, file } = this.placeOf(path);
      const names = walking(this.logs, directory, (logs) => logs.entries().flatMap((entry) => (entry.name.startsWith(`${file}.`) && !entry.isDirectory() ? [entry.name] : [])));
      return { names: (names ?? []).sort(), utcOffsetSeconds: -60 * new Date().getTimezoneOffset() };
    });
  }

  discard({ path, names }: ContainerLogOperations['discard']['request'], call: Call): Promise<null> {
    return carryOut('containerLogs.discard', path, call, () => {
      const place = this.placeOf(path);
      for (const name of names) checkRotated(place, name);
      walking(this.logs, place.directory, (logs) => allSteps(names.map((name) => () => logs.unlink(name))));
      return null;
    });
  }

  compress({ path, name }: ContainerLogOperations['compress']['request'], call: Call): Promise<null> {
    return carryOut('containerLogs.compress', `${path}: ${name}`, call, async () => {
      const place = this.placeOf(path);
      checkRotated(place, name);
      const logs = this.enter(place.directory);
      try {
        await compressFile(logs, name, call);
      } finally {
        logs.close();
      }
      return null;
    });
  }

  rename({ path, name, direction }: ContainerLogOperations['rename']['request'], call: Call): Promise<null> {
    return carryOut('containerLogs.rename', path, call, () => {
      const place = this.placeOf(path);
      checkRotated(place, name);
      const [from, to] = direction === 'aside' ? [place.file, name] : [name, place.file];
      const found = walking(this.logs, place.directory, (logs) => {
        if (logs.look(from) === null) return false;
        if (logs.look(to) !== null) throw new FileRefusal('already-exists', `${logs.where()}/${to} is there`);
        logs.rename(from, to);
        return true;
      });
      if (found !== true) throw new FileRefusal('not-found', `${place.directory.join('/')}/${from} does not exist`);
      return null;
    });
  }

  removeUnfinished(_request: null, call: Call): Promise<number> {
    return carryOut('containerLogs.removeUnfinished', this.podLogsDirectory, call, () => {
      let removed = 0;
      this.eachContainer((logs) => {
        for (const entry of logs.entries()) {
          if (entry.isDirectory() || !isUnfinished(entry.name)) continue;
          logs.unlink(entry.name);
          removed++;
        }
      });
      return removed;
    });
  }

  private eachContainer(work: (directory: DirectoryHandle) => void): void {
    for (const pod of this.logs.directoryNames()) {
      walking(this.logs, [pod], (directory) => {
        for (const container of directory.directoryNames()) walking(directory, [container], work);
      });
    }
  }

  private enter(elements: readonly string[]): DirectoryHandle {
    let directory: DirectoryHandle | null = null;
    for (const element of elements) {
      const from: DirectoryHandle = directory ?? this.logs;
      try {
        directory = from.enter(element);
      } finally {
        if (from !== this.logs) from.close();
      }
    }
    return directory as DirectoryHandle;
  }

  /** A container's log is two directories below the root. */
  private placeOf(path: string): LogPlace {
    const [pod, container, file, ...more] = elementsBelow(this.podLogsDirectory, path);
    if (pod === undefined || container === undefined || file === undefined || more.length > 0)
      throw new FileRefusal('permission-denied', `${path} is no log of a container below ${this.podLogsDirectory}`);
    return { directory: [pod, container], file };
  }
}

/** Rotation names its files `<N>.log.<time>`; other files beside logs belong to other programs. */
function isUnfinished(name: string): boolean {
  return /^\d+\.log\..+\.tmp$/.test(name) && name.endsWith(unfinishedSuffix);
}

function checkRotated({ file }: LogPlace, name: string): void {
  checkName(name);
  if (!name.startsWith(`${file}.`)) throw new FileRefusal('permission-denied', `${name} is no rotated file of ${file}`);
}

function sizeOf(path: string): number | null {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? null;
  } catch (error) {
    if (errnoName(error) === 'ENOTDIR') return null;
    throw error;
  }
}

async function compressFile(logs: DirectoryHandle, name: string, call: Call): Promise<void> {
  const source = await open(logs.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const unfinished = `${name}${unfinishedSuffix}`;
  try {
    const found = await source.stat();
    if (!found.isFile()) throw new FileRefusal('failed-precondition', `${logs.where()}/${name} is no regular file`);
    const mode = found.mode & 0o777;
    const target = await open(logs.at(unfinished), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode);
    try {
      await target.chmod(mode);
      const signal = call.signal instanceof AbortSignal ? { signal: call.signal } : {};
      await pipeline(source.createReadStream(), createGzip(), target.createWriteStream({ flush: true }), signal);
    } finally {
      // Waits for pending writes.
      await target.close();
    }
    logs.rename(unfinished, `${name}${compressedSuffix}`);
    logs.unlink(name);
  } catch (error) {
    logs.unlink(unfinished);
    if (call.signal.aborted) throw new FileRefusal('cancelled', 'context canceled');
    throw error;
  } finally {
    await source.close();
  }
}
