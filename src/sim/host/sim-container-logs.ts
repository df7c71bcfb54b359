// Rotation of container logs as a model: files have sizes and no content, and those that a container writes grow by themselves.
// The runtime's side of it is `opened`, `closed` and `reopened`. Invariant: a writer follows its file through every rename, as a
// descriptor does, and through its removal to nowhere.
import { microsPerSecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { ContainerLogOperations } from '../../ports/outbound/container-logs.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState } from './host-state.js';
import { checkName, elementsBelow, HostRefusal } from './refusal.js';

/** A line of log, with its time and stream. */
export const simLogLineBytes = 100;
/** Text compresses to about a tenth. */
const compressionRatio = 10;

interface LogPlace {
  readonly files: Map<string, number>;
  readonly directory: string;
  readonly file: string;
}

export class SimContainerLogs {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  measure({ paths }: ContainerLogOperations['measure']['request'], now: Micros): ContainerLogOperations['measure']['reply'] {
    return {
      sizeBytes: paths.map((path) => {
        const { files, file } = this.placeOf(path);
        this.settle(now);
        return files.get(file) ?? null;
      }),
    };
  }

  listRotated({ path }: ContainerLogOperations['listRotated']['request']): ContainerLogOperations['listRotated']['reply'] {
    const { files, file } = this.placeOf(path);
    return { names: [...files.keys()].filter((name) => name.startsWith(`${file}.`)).sort(), utcOffsetSeconds: 0 };
  }

  discard({ path, names }: ContainerLogOperations['discard']['request']): null {
    const place = this.placeOf(path);
    for (const name of names) checkRotated(place, name);
    for (const name of names) place.files.delete(name);
    return null;
  }

  compress({ path, name }: ContainerLogOperations['compress']['request'], now: Micros): null {
    const place = this.placeOf(path);
    checkRotated(place, name);
    this.settle(now);
    const size = place.files.get(name);
    if (size === undefined) throw new HostRefusal('not-found', `${place.directory}/${name} does not exist`);
    place.files.set(`${name}.gz`, Math.ceil(size / compressionRatio));
    place.files.delete(name);
    return null;
  }

  rename({ path, name, direction }: ContainerLogOperations['rename']['request'], now: Micros): null {
    const place = this.placeOf(path);
    checkRotated(place, name);
    this.settle(now);
    const [from, to] = direction === 'aside' ? [place.file, name] : [name, place.file];
    const size = place.files.get(from);
    if (size === undefined) throw new HostRefusal('not-found', `${place.directory}/${from} does not exist`);
    if (place.files.has(to)) throw new HostRefusal('already-exists', `${place.directory}/${to} is there`);
    place.files.delete(from);
    place.files.set(to, size);
    for (const writer of this.state.logWriters.values()) if (writer.path === `${place.directory}/${from}`) writer.path = `${place.directory}/${to}`;
    return null;
  }

  removeUnfinished(): number {
    let removed = 0;
    for (const containers of this.state.logs.values()) {
      for (const files of containers.values()) {
        for (const name of files.keys()) if (name.endsWith('.tmp') && files.delete(name)) removed++;
      }
    }
    return removed;
  }

  /** A container begins to write its log, so many bytes a second. */
  opened(containerId: string, path: string, bytesPerSecond: number, now: Micros): void {
    const [directory = '', container = '', file = ''] = elementsBelow(this.settings.podLogsDirectory, path);
    const containers = this.state.logs.get(directory) ?? new Map<string, Map<string, number>>();
    this.state.logs.set(directory, containers);
    const files = containers.get(container) ?? new Map<string, number>();
    containers.set(container, files);
    if (!files.has(file)) files.set(file, 0);
    if (bytesPerSecond > 0) this.state.logWriters.set(containerId, { path, bytesPerSecond, since: now });
  }

  /** The runtime opens the log by its path again. */
  reopened(containerId: string, path: string, bytesPerSecond: number, now: Micros): void {
    this.settle(now);
    this.opened(containerId, path, bytesPerSecond, now);
  }

  closed(containerId: string, now: Micros): void {
    this.settle(now);
    this.state.logWriters.delete(containerId);
  }

  /** What writers have written until now is in their files. */
  private settle(now: Micros): void {
    for (const writer of this.state.logWriters.values()) {
      const grown = Math.floor(((now - writer.since) * writer.bytesPerSecond) / microsPerSecond);
      if (grown === 0) continue;
      writer.since += Math.floor((grown * microsPerSecond) / writer.bytesPerSecond);
      const { files, file } = this.placeOf(writer.path);
      const size = files.get(file);
      if (size !== undefined) files.set(file, size + grown);
    }
  }

  /** An unattached set of files if the directory is absent. */
  private placeOf(path: string): LogPlace {
    const elements = elementsBelow(this.settings.podLogsDirectory, path);
    const [directory = '', container = '', file = ''] = elements;
    if (elements.length !== 3) throw new HostRefusal('permission-denied', `${path} is no log of a container below ${this.settings.podLogsDirectory}`);
    return { files: this.state.logs.get(directory)?.get(container) ?? new Map(), directory: path.slice(0, path.lastIndexOf('/')), file };
  }
}

function checkRotated({ file }: LogPlace, name: string): void {
  checkName(name);
  if (!name.startsWith(`${file}.`)) throw new HostRefusal('permission-denied', `${name} is no rotated file of ${file}`);
}
