// Reads the counters of many cgroups in a few batches, away from the main thread.
//
// Invariants: what a walk finds and a batch holds is bounded; a cgroup that vanishes between walk and read is left out; texts are decoded
// in slices, so that no slice holds the event loop for long.
import { readdir, stat } from 'node:fs/promises';
import type { NativeLinux } from '../../native-linux/index.js';
import type { CgroupLayout } from '../cgroups/cgroup-layout.js';
import { type CgroupCounters, countersV1, countersV2, filesV1, filesV2 } from './cgroup-counters.js';

export interface ReadCgroup {
  /** From the root of the trees: `/`, `/kubepods/besteffort/pod<uid>`. */
  readonly path: string;
  readonly createdAtMillis: number;
  /** When it was read. */
  readonly readAtMillis: number;
  readonly counters: CgroupCounters;
}

export interface CgroupReaderOptions {
  readonly native: Pick<NativeLinux, 'openFileBatch'>;
  readonly layout: CgroupLayout;
  readonly nowMillis: () => number;
  /** Stands before the mount points: '' on a host, a recorded tree in tests. */
  readonly hostRoot?: string;
}

type Batch = ReturnType<NativeLinux['openFileBatch']>;

interface Registered {
  readonly createdAtMillis: number;
  /** By file; null: its controller is not mounted. */
  readonly slots: ReadonlyMap<string, number>;
}

/** Files of one batch. */
const batchFilesMax = 512;
/** Of one file: enough for the processes of a busy root. */
const itemBytesMax = 65_536;
/** Kept open between readings, within what a process may hold by default. */
const descriptorsMax = 512;
export const cgroupsReadMax = 4096;
const levelsMax = 8;

export class CgroupReader {
  private readonly batch: Batch;
  private readonly known = new Map<string, Registered>();

  constructor(private readonly options: CgroupReaderOptions) {
    this.batch = options.native.openFileBatch({ descriptorsMax, itemBytesMax });
  }

  close(): void {
    this.known.clear();
    this.batch.close();
  }

  /** The cgroup and all below it, in no order, within the bounds; none when it is absent. */
  async walk(top: string): Promise<string[]> {
    const found: string[] = [];
    let level = [top];
    for (let depth = 0; depth <= levelsMax && level.length > 0 && found.length < cgroupsReadMax; depth++) {
      const children = await Promise.all(level.slice(0, cgroupsReadMax - found.length).map(async (path) => ({ path, names: await directoriesIn(this.directory(path)) })));
      level = [];
      for (const { path, names } of children) {
        if (names === null) continue;
        found.push(path);
        for (const name of names) level.push(path === '/' ? `/${name}` : `${path}/${name}`);
      }
    }
    return found;
  }

  /** Reads the cgroups that are there. With `detail` all that can be told, else what the stats summary needs. Forgets all others. */
  async read(paths: readonly string[], detail: boolean): Promise<ReadCgroup[]> {
    await this.keepOnly(paths);
    const files = this.files(detail);
    const perCgroup = files.length;
    const inBatch = Math.max(1, Math.floor(batchFilesMax / perCgroup));
    const present = [...this.known.keys()];
    const read: ReadCgroup[] = [];
    for (let from = 0; from < present.length; from += inBatch) read.push(...(await this.readSlice(present.slice(from, from + inBatch), files)));
    return read;
  }

  private async readSlice(paths: readonly string[], files: readonly string[]): Promise<ReadCgroup[]> {
    const registered = paths.flatMap((path) => {
      const known = this.known.get(path);
      return known === undefined ? [] : [{ path, known }];
    });
    const slots = registered.flatMap(({ known }) => files.flatMap((file) => known.slots.get(file) ?? []));
    const readAtMillis = this.options.nowMillis();
    const content = await this.batch.readInBackground(slots);
    let index = 0;
    return registered.flatMap(({ path, known }) => {
      const indexes = new Map<string, number>();
      for (const file of files) if (known.slots.has(file)) indexes.set(file, index++);
      const text = (file: string): string | null => {
        const at = indexes.get(file);
        return at === undefined ? null : content.text(at);
      };
      const counters = this.options.layout.version === 1 ? countersV1(text) : countersV2(text);
      const vanished = counters.cpu === null && counters.memory === null && counters.pids === null;
      return vanished ? [] : [{ path, createdAtMillis: known.createdAtMillis, readAtMillis, counters }];
    });
  }

  private files(detail: boolean): readonly string[] {
    if (this.options.layout.version === 1) return filesV1.filter(([, , isDetail]) => detail || !isDetail).map(([, file]) => file);
    return filesV2.filter(([, isDetail]) => detail || !isDetail).map(([file]) => file);
  }

  private async keepOnly(paths: readonly string[]): Promise<void> {
    const wanted = new Set(paths.slice(0, cgroupsReadMax));
    for (const [path, { slots }] of this.known) {
      if (wanted.has(path)) continue;
      for (const slot of slots.values()) this.batch.remove(slot);
      this.known.delete(path);
    }
    const fresh = [...wanted].filter((path) => !this.known.has(path));
    const created = await Promise.all(fresh.map((path) => this.createdAt(path)));
    fresh.forEach((path, i) => {
      const createdAtMillis = created[i] ?? null;
      if (createdAtMillis !== null && !this.known.has(path)) this.known.set(path, { createdAtMillis, slots: this.register(path) });
    });
  }

  private register(path: string): ReadonlyMap<string, number> {
    const { version, hierarchies } = this.options.layout;
    const slots = new Map<string, number>();
    if (version === 2) {
      for (const [file] of filesV2) slots.set(file, this.batch.add(`${this.directory(path)}/${file}`));
      return slots;
    }
    for (const [controller, file] of filesV1) {
      const hierarchy = hierarchies.find(({ controllers }) => controllers.includes(controller));
      if (hierarchy !== undefined) slots.set(file, this.batch.add(`${this.below(hierarchy.mountPoint, path)}/${file}`));
    }
    return slots;
  }

  /** null: it is gone. The times of a cgroup's files on v1, and of its directory on v2, are those of its making. */
  private async createdAt(path: string): Promise<number | null> {
    const directory = this.directory(path);
    for (const looked of this.options.layout.version === 1 ? [`${directory}/cgroup.clone_children`, directory] : [directory]) {
      try {
        return Math.floor((await stat(looked)).mtimeMs);
      } catch {
        // The next one, or it is gone.
      }
    }
    return null;
  }

  /** In the tree that is walked. On v1 the CPU's: every runtime puts its cgroups there. */
  private directory(path: string): string {
    const { hierarchies } = this.options.layout;
    const walked = hierarchies.find(({ controllers }) => controllers.includes('cpu')) ?? hierarchies[0];
    return this.below(walked?.mountPoint ?? '/sys/fs/cgroup', path);
  }

  private below(mountPoint: string, path: string): string {
    return `${this.options.hostRoot ?? ''}${mountPoint}${path === '/' ? '' : path}`;
  }
}

/** null: no such directory. */
async function directoriesIn(path: string): Promise<string[] | null> {
  try {
    return (await readdir(path, { withFileTypes: true })).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return null;
  }
}
