// Container logs on disk, as far as the agent manages them: counting restarts, links for log collectors, and removing logs of removed containers.
// The runtime owns the files. Invariant: makes and removes only entries below the logs root and directly in the directory of links, and
// follows no link on the way.
import { constants, existsSync, readdirSync } from 'node:fs';
import { constants as systemConstants } from 'node:os';
import { restartCountOfLogDirectory } from '../../domain/values/log-paths.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { PodLogOperations } from '../../ports/outbound/pod-files.js';
import { FallbackFileSteps, type FileStepOutcomes, type FileStepRunner, FileSteps, listedEntries, notDone, type StepIndex, tolerated } from '../native-linux/index.js';
import { checkName, DirectoryHandle } from './directory-handle.js';
import { allSteps, carryOut, errnoName, FileRefusal, inSlices } from './file-errors.js';
import { elementsBelow } from './log-places.js';
import { treeLevelsMax } from './remove-tree.js';
import { carriedOut, directoryNames, stepError } from './step-errors.js';

const directoryMode = 0o755;
const logSuffix = '.log';
const absent = -systemConstants.errno.ENOENT;

export interface PodLogPaths {
  /** `podLogsDir` of the configuration. */
  readonly podLogsDirectory: string;
  /** The log collectors' directory: /var/log/containers, or another one. */
  readonly linksDirectory: string;
  /** The runner of step lists; plain Node by default. */
  readonly steps?: FileStepRunner;
}

export class FilePodLogs implements PortOf<PodLogOperations> {
  private readonly steps: FileStepRunner;

  private constructor(
    private readonly paths: PodLogPaths,
    private readonly logs: DirectoryHandle,
    private readonly links: DirectoryHandle,
  ) {
    this.steps = paths.steps ?? new FallbackFileSteps();
  }

  /** Makes both directories if absent. Throws the kernel's error. */
  static open(paths: PodLogPaths): FilePodLogs {
    const logs = DirectoryHandle.root(paths.podLogsDirectory, directoryMode);
    try {
      return new FilePodLogs(paths, logs, DirectoryHandle.root(paths.linksDirectory, directoryMode));
    } catch (error) {
      logs.close();
      throw error;
    }
  }

  close(): void {
    this.logs.close();
    this.links.close();
  }

  nextRestartCount({ podLogDirectory, containerName }: PodLogOperations['nextRestartCount']['request'], call: Call): Promise<number> {
    return carryOut('podLogs.nextRestartCount', `${podLogDirectory}/${containerName}`, call, async () => {
      const list = new FileSteps([this.logs]);
      const listed = list.list(entered(list, 0, [podLogDirectory, containerName].map(checkName)), '', false);
      return restartCountOfLogDirectory(listedEntries((await carriedOut(this.steps, list)).text(listed)).map(({ name }) => name));
    });
  }

  link({ link, target }: PodLogOperations['link']['request'], call: Call): Promise<null> {
    return carryOut('podLogs.link', link, call, async () => {
      const name = this.linkName(link);
      const [directory, file] = this.logFile(target);
      const list = new FileSteps([this.logs, this.links]);
      const log = list.look(entered(list, 0, directory, tolerated.nothing), file);
      const made = list.link(1, name, target, tolerated.present);
      const look = list.look(1, name);
      const read = list.readLink(1, name, tolerated.anything);
      const outcomes = await this.steps.run(list);
      const failed = outcomes.failed(list);
      if (failed !== null && failed <= log && outcomes.status(failed) === absent) throw new FileRefusal('not-found', `${target} does not exist`);
      if (failed !== null) throw stepError(list, outcomes, failed);
      if (outcomes.status(made) >= 0) return null;
      if (!isLink(outcomes.status(look))) throw new FileRefusal('already-exists', `${this.paths.linksDirectory}/${name} is there and no link`);
      if (outcomes.text(read) !== target) await this.replaceLink(name, target);
      return null;
    });
  }

  removeContainerLogs({ logPaths, links }: PodLogOperations['removeContainerLogs']['request'], call: Call): Promise<null> {
    return carryOut('podLogs.removeContainerLogs', logPaths[0] ?? links[0] ?? '', call, async () => {
      // A container that was never started has no log path. A malformed one doesn't affect the others.
      const refused: (() => void)[] = [];
      const logs = parsedEach(
        logPaths.filter((path) => path !== ''),
        (path) => this.logFile(path),
        refused,
      );
      const names = parsedEach(links, (link) => this.linkName(link), refused);
      const found = new FileSteps([this.logs, this.links]);
      const listed = logs.map(([directory]) => found.list(entered(found, 0, directory, tolerated.anything), '', false, tolerated.anything));
      const looks = names.map((name) => found.look(1, name, tolerated.anything));
      const before = await this.steps.run(found);
      const removal = new FileSteps([this.logs, this.links]);
      logs.forEach(([directory, file], index) => {
        // `<path>*`: rotated and compressed files too.
        const ownLinks = listedEntries(before.text(listed[index]!)).filter(({ name, isDirectory }) => !isDirectory && name.startsWith(file));
        const slot = entered(removal, 0, directory, tolerated.anything);
        for (const { name } of ownLinks) removal.unlink(slot, name, tolerated.anything);
      });
      names.forEach((name, index) => {
        const mode = before.status(looks[index]!);
        if (isLink(mode)) removal.unlink(1, name, tolerated.anything);
        else if (mode >= 0) refused.push(throwing(new FileRefusal('failed-precondition', `${this.paths.linksDirectory}/${name} is no link`)));
      });
      const after = await this.steps.run(removal);
      allSteps([...failuresOf(found, before), ...failuresOf(removal, after), ...refused]);
      return null;
    });
  }

  listDirectories(_request: null, call: Call): Promise<readonly string[]> {
    return carryOut('podLogs.listDirectories', '', call, () => directoryNames(this.steps, this.logs));
  }

  removeDirectory({ name }: { readonly name: string }, call: Call): Promise<null> {
    return carryOut('podLogs.removeDirectory', name, call, async () => {
      const list = new FileSteps([this.logs]);
      list.enter(0, checkName(name), tolerated.absent);
      list.noMountBelow(`${this.logs.where()}/${name}`);
      list.removeTree(0, name, treeLevelsMax, true);
      await carriedOut(this.steps, list);
      return null;
    });
  }

  removeDeadLinks(_request: null, call: Call): Promise<number> {
    const { linksDirectory } = this.paths;
    return carryOut('podLogs.removeDeadLinks', linksDirectory, call, async () => {
      let removed = 0;
      const names = this.links.entries().flatMap((entry) => (entry.isSymbolicLink() && entry.name.endsWith(logSuffix) ? [entry.name] : []));
      await inSlices('podLogs.removeDeadLinks', linksDirectory, call, names, (name) => {
        // Since the listing it may have been removed or replaced.
        if (this.links.look(name)?.isSymbolicLink() !== true || !this.isDead(name)) return;
        this.links.unlink(name);
        removed++;
      });
      return removed;
    });
  }

  /** During a rotation the log's name is absent for a moment, but then the rotated file exists; a removed container has neither. */
  private isDead(link: string): boolean {
    const target = this.links.linkTarget(link);
    const path = target.startsWith('/') ? target : `${this.paths.linksDirectory}/${target}`;
    if (existsSync(path)) return false;
    const slash = path.lastIndexOf('/');
    try {
      return !readdirSync(path.slice(0, slash + 1)).some((name) => name.startsWith(`${path.slice(slash + 1)}.`));
    } catch (error) {
      if (errnoName(error) === 'ENOENT' || errnoName(error) === 'ENOTDIR' || errnoName(error) === 'ELOOP') return true;
      throw error;
    }
  }

  private async replaceLink(name: string, target: string): Promise<void> {
    const list = new FileSteps([this.links]);
    list.unlink(0, name);
    list.link(0, name, target);
    await carriedOut(this.steps, list);
  }

  /** The directories from the logs root, and the file's name. */
  private logFile(path: string): readonly [readonly string[], string] {
    const elements = elementsBelow(this.paths.podLogsDirectory, path);
    const file = elements.pop();
    if (file === undefined || elements.length === 0) throw new FileRefusal('permission-denied', `${path} is no log of a pod below ${this.paths.podLogsDirectory}`);
    return [elements, file];
  }

  private linkName(path: string): string {
    const elements = elementsBelow(this.paths.linksDirectory, path);
    if (elements.length !== 1) throw new FileRefusal('permission-denied', `${path} is not directly in ${this.paths.linksDirectory}`);
    return elements[0]!;
  }
}

/** The last of nested directories; steps in it are skipped if one of them is absent. */
function entered(list: FileSteps, root: number, elements: readonly string[], tolerates: number = tolerated.absent): number {
  return elements.reduce((directory, name) => list.enter(directory, name, tolerates), root);
}

function isLink(mode: number): boolean {
  return mode >= 0 && (mode & constants.S_IFMT) === constants.S_IFLNK;
}

/** Each that can be read; the others' failures go to `refused`. */
function parsedEach<T>(paths: readonly string[], parse: (path: string) => T, refused: (() => void)[]): T[] {
  return paths.flatMap((path) => {
    try {
      return [parse(path)];
    } catch (error) {
      refused.push(throwing(error));
      return [];
    }
  });
}

function throwing(error: unknown): () => void {
  return () => {
    throw error;
  };
}

/** Failures that didn't end the list; absence is success. */
function failuresOf(list: FileSteps, outcomes: FileStepOutcomes): (() => void)[] {
  return list.steps.flatMap((_, index: StepIndex) => {
    const status = outcomes.status(index);
    return status >= 0 || status === notDone || status === absent ? [] : [throwing(stepError(list, outcomes, index))];
  });
}
