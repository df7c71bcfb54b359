// Container logs as a model: file names without content; SimContainerLogs models growth and rotation.
// Invariant: a link is dead when neither its target nor a rotated file of the target exists.
import { restartCountOfLogDirectory } from '../../domain/values/log-paths.js';
import type { PodLogOperations } from '../../ports/outbound/pod-files.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState } from './host-state.js';
import { checkName, elementsBelow, HostRefusal } from './refusal.js';

export class SimPodLogs {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  nextRestartCount({ podLogDirectory, containerName }: PodLogOperations['nextRestartCount']['request']): number {
    return restartCountOfLogDirectory([...(this.state.logs.get(checkName(podLogDirectory))?.get(checkName(containerName))?.keys() ?? [])]);
  }

  link({ link, target }: PodLogOperations['link']['request']): null {
    const path = this.linkPath(link);
    const { files, file } = this.logFile(target);
    if (!files.has(file)) throw new HostRefusal('not-found', `${target} does not exist`);
    this.state.links.set(path, target);
    return null;
  }

  removeContainerLogs({ logPaths, links }: PodLogOperations['removeContainerLogs']['request']): null {
    const refusals: HostRefusal[] = [];
    const trying = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        if (!(error instanceof HostRefusal)) throw error;
        refusals.push(error);
      }
    };
    for (const path of logPaths) if (path !== '') trying(() => this.removeLogFiles(path));
    for (const link of links) trying(() => this.state.links.delete(this.linkPath(link)));
    const [first] = refusals;
    if (first !== undefined) throw new HostRefusal(first.kind, refusals.map(({ message }) => message).join('; '));
    return null;
  }

  listDirectories(): readonly string[] {
    return [...this.state.logs.keys()].sort();
  }

  removeDirectory({ name }: PodLogOperations['removeDirectory']['request']): null {
    this.state.logs.delete(checkName(name));
    return null;
  }

  removeDeadLinks(): number {
    let removed = 0;
    for (const [link, target] of this.state.links) {
      const { files, file } = this.fileOf(target);
      if (files.has(file) || [...files.keys()].some((name) => name.startsWith(`${file}.`))) continue;
      this.state.links.delete(link);
      removed++;
    }
    return removed;
  }

  /** Creates a log file without the agent. */
  writeLog(path: string): void {
    const [directory = '', container = '', file = ''] = elementsBelow(this.settings.podLogsDirectory, path);
    const containers = this.state.logs.get(directory) ?? new Map<string, Map<string, number>>();
    this.state.logs.set(directory, containers);
    const files = containers.get(container) ?? new Map<string, number>();
    containers.set(container, files.set(file, files.get(file) ?? 0));
  }

  /** Removes a log file without the agent: moved by a rotation, deleted by hand. */
  loseLog(path: string): void {
    const { files, file } = this.logFile(path);
    files.delete(file);
  }

  private removeLogFiles(path: string): void {
    const { files, file } = this.logFile(path);
    for (const name of files.keys()) if (name.startsWith(file)) files.delete(name);
  }

  /** The set of files that contains the path's file; an unattached one if the directory is absent. */
  private logFile(path: string): { readonly files: Map<string, number>; readonly file: string } {
    const elements = elementsBelow(this.settings.podLogsDirectory, path);
    if (elements.length < 2) throw new HostRefusal('permission-denied', `${path} is no log of a pod below ${this.settings.podLogsDirectory}`);
    return this.fileOf(path);
  }

  /** For a path that was checked before. */
  private fileOf(path: string): { readonly files: Map<string, number>; readonly file: string } {
    const from = this.settings.podLogsDirectory.length + 1;
    const second = path.indexOf('/', from);
    const last = path.indexOf('/', second + 1);
    const [directory, container, file] =
      last < 0 ? [path.slice(from, second), path.slice(second + 1), ''] : [path.slice(from, second), path.slice(second + 1, last), path.slice(last + 1)];
    return { files: this.state.logs.get(directory)?.get(container) ?? new Map(), file };
  }

  private linkPath(path: string): string {
    if (elementsBelow(this.settings.linksDirectory, path).length !== 1) throw new HostRefusal('permission-denied', `${path} is not directly in ${this.settings.linksDirectory}`);
    return path;
  }
}
