// Container logs on disk, as far as the agent tends them: counting restarts, links for log collectors, and taking away what is over.
// The files themselves are the runtime's. Invariant: only below the logs root and directly in the directory of links is anything made or
// removed, and no link is followed on the way.
import { existsSync, readdirSync } from 'node:fs';
import { restartCountOfLogDirectory } from '../../domain/values/log-paths.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { PodLogOperations } from '../../ports/outbound/pod-files.js';
import { checkName, DirectoryHandle, walking } from './directory-handle.js';
import { allSteps, carryOut, errnoName, FileRefusal, inSlices } from './file-errors.js';
import { elementsBelow } from './log-places.js';
import { mountAtOrBelow, removeEverything, removeTree } from './remove-tree.js';

const directoryMode = 0o755;
const logSuffix = '.log';

export interface PodLogPaths {
  /** `podLogsDir` of the configuration. */
  readonly podLogsDirectory: string;
  /** Where collectors look: /var/log/containers, or a directory of one's own. */
  readonly linksDirectory: string;
}

export class FilePodLogs implements PortOf<PodLogOperations> {
  private constructor(
    private readonly paths: PodLogPaths,
    private readonly logs: DirectoryHandle,
    private readonly links: DirectoryHandle,
  ) {}

  /** Makes both directories when they are absent. Throws what the kernel says. */
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
    return carryOut('podLogs.nextRestartCount', `${podLogDirectory}/${containerName}`, call, () => {
      checkName(containerName);
      const names = walking(this.logs, [podLogDirectory, containerName], (directory) => directory.entries().map((entry) => entry.name));
      return restartCountOfLogDirectory(names ?? []);
    });
  }

  link({ link, target }: PodLogOperations['link']['request'], call: Call): Promise<null> {
    return carryOut('podLogs.link', link, call, () => {
      const name = this.linkName(link);
      const [directory, file] = this.logFile(target);
      const present = walking(this.logs, directory, (logs) => logs.look(file) !== null);
      if (present !== true) throw new FileRefusal('not-found', `${target} does not exist`);
      this.putLink(name, target);
      return null;
    });
  }

  removeContainerLogs({ logPaths, links }: PodLogOperations['removeContainerLogs']['request'], call: Call): Promise<null> {
    return carryOut('podLogs.removeContainerLogs', logPaths[0] ?? links[0] ?? '', call, () => {
      // A container that was never started has no log path.
      const steps = logPaths.filter((path) => path !== '').map((path) => () => this.removeLogFiles(path));
      allSteps([...steps, ...links.map((link) => () => this.removeLink(this.linkName(link)))]);
      return null;
    });
  }

  listDirectories(_request: null, call: Call): Promise<readonly string[]> {
    return carryOut('podLogs.listDirectories', '', call, () => this.logs.directoryNames());
  }

  removeDirectory({ name }: { readonly name: string }, call: Call): Promise<null> {
    return carryOut('podLogs.removeDirectory', name, call, () => {
      walking(this.logs, [name], (directory) => {
        const mount = mountAtOrBelow(directory.where());
        if (mount !== null) throw new FileRefusal('failed-precondition', `${mount} is still mounted`);
      });
      removeTree(this.logs, name, removeEverything);
      return null;
    });
  }

  removeDeadLinks(_request: null, call: Call): Promise<number> {
    const { linksDirectory } = this.paths;
    return carryOut('podLogs.removeDeadLinks', linksDirectory, call, async () => {
      let removed = 0;
      const names = this.links.entries().flatMap((entry) => (entry.isSymbolicLink() && entry.name.endsWith(logSuffix) ? [entry.name] : []));
      await inSlices('podLogs.removeDeadLinks', linksDirectory, call, names, (name) => {
        // Since they were listed it may have gone, or have become something else.
        if (this.links.look(name)?.isSymbolicLink() !== true || !this.isDead(name)) return;
        this.links.unlink(name);
        removed++;
      });
      return removed;
    });
  }

  /** While a log is rotated its name is gone for a moment, but then the rotated file is there; a removed container has none of them. */
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

  private putLink(name: string, target: string): void {
    const present = this.links.look(name);
    if (present !== null && !present.isSymbolicLink()) throw new FileRefusal('already-exists', `${this.paths.linksDirectory}/${name} is there and no link`);
    if (present !== null && this.links.linkTarget(name) === target) return;
    this.links.unlink(name);
    this.links.link(name, target);
  }

  private removeLink(name: string): void {
    const present = this.links.look(name);
    if (present === null) return;
    if (!present.isSymbolicLink()) throw new FileRefusal('failed-precondition', `${this.paths.linksDirectory}/${name} is no link`);
    this.links.unlink(name);
  }

  /** `<path>*`: rotated and compressed files too. */
  private removeLogFiles(path: string): void {
    const [directory, file] = this.logFile(path);
    walking(this.logs, directory, (logs) => {
      const names = logs.entries().flatMap((entry) => (entry.name.startsWith(file) && !entry.isDirectory() ? [entry.name] : []));
      allSteps(names.map((name) => () => logs.unlink(name)));
    });
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
