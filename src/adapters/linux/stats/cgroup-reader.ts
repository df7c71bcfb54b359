// Reads the counters of many cgroups in a few batches, away from the main thread.
//
// Invariants: what a walk finds and a batch holds is bounded; a cgroup that vanishes between walk and read is left out; texts are decoded
// in slices, so that no slice holds the event loop for long.
import { stat } from 'node:fs/promises';
import type { NativeLinux } from '../../native-linux/index.js';
import { LoopShare } from '../../time/index.js';
import type { CgroupLayout } from '../cgroups/cgroup-layout.js';
import { type CgroupCounters, countersV1, countersV2, filesV1, filesV2 } from './cgroup-counters.js';
import { CgroupWalk } from './cgroup-walk.js';

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
  /** Kept open between readings; 512 when left out. */
  readonly descriptorsMax?: number;
  /** Stands before the mount points: '' on a host, a recorded tree in tests. */
  readonly hostRoot?: string;
}

type Batch = ReturnType<NativeLinux['openFileBatch']>;

interface Registered {
  readonly createdAtMillis: number;
  /** One for each file of `files`, in that order. */
  readonly slots: readonly number[];
}

/** The files that this host can have, and where each stands in what is read of a cgroup. */
interface Files {
  readonly all: readonly { readonly mountPoint: string; readonly file: string }[];
  /** Those that the small set has come first. */
  readonly small: number;
  readonly positions: ReadonlyMap<string, number>;
}

/** Files of one batch. */
const batchFilesMax = 2048;
/** Of one file: enough for the processes of a busy root. */
const itemBytesMax = 65_536;
/** Kept open between readings: reading one anew costs a quarter of opening it. */
export const statsDescriptorsMax = 8192;
export const cgroupsReadMax = 4096;
const levelsMax = 8;

export class CgroupReader {
  private readonly batch: Batch;
  private readonly known = new Map<string, Registered>();
  private readonly files: Files;
  private readonly tree: CgroupWalk;

  constructor(private readonly options: CgroupReaderOptions) {
    this.batch = options.native.openFileBatch({ descriptorsMax: options.descriptorsMax ?? 512, itemBytesMax });
    this.files = filesOf(options.layout);
    this.tree = new CgroupWalk({ directoryOf: (path) => this.directory(path), cgroupsMax: cgroupsReadMax, levelsMax });
  }

  close(): void {
    this.known.clear();
    this.tree.forget();
    this.batch.close();
  }

  /** Nothing is kept open for a node that nobody looks at; what was known is found again. */
  rest(): void {
    for (const { slots } of this.known.values()) for (const slot of slots) this.batch.remove(slot);
    this.known.clear();
    this.tree.forget();
  }

  /** The cgroup and all below it, in no order, within the bounds; none when it is absent. */
  walk(top: string): Promise<string[]> {
    return this.tree.walk(top);
  }

  /** Reads the cgroups that are there. With `detail` all that can be told, else what the stats summary needs. Forgets all others. */
  async read(paths: readonly string[], detail: boolean): Promise<ReadCgroup[]> {
    await this.keepOnly(paths);
    const perCgroup = detail ? this.files.all.length : this.files.small;
    const inBatch = Math.max(1, Math.floor(batchFilesMax / Math.max(1, perCgroup)));
    const present = [...this.known];
    const read: ReadCgroup[] = [];
    for (let from = 0; from < present.length; from += inBatch) await this.readBatch(present.slice(from, from + inBatch), perCgroup, read);
    return read;
  }

  private async readBatch(cgroups: readonly (readonly [path: string, registered: Registered])[], perCgroup: number, read: ReadCgroup[]): Promise<void> {
    const slots = new Int32Array(cgroups.length * perCgroup);
    cgroups.forEach(([, registered], i) => {
      for (let file = 0; file < perCgroup; file++) slots[i * perCgroup + file] = registered.slots[file] ?? 0;
    });
    const readAtMillis = this.options.nowMillis();
    const content = await this.batch.readInBackground(slots);
    const { positions } = this.files;
    const countersOf = this.options.layout.version === 1 ? countersV1 : countersV2;
    const share = new LoopShare();
    let first = 0;
    const text = (file: string): string | null => {
      const position = positions.get(file);
      return position === undefined || position >= perCgroup ? null : content.text(first + position);
    };
    for (const [path, { createdAtMillis }] of cgroups) {
      const counters = countersOf(text);
      first += perCgroup;
      const vanished = counters.cpu === null && counters.memory === null && counters.pids === null;
      if (!vanished) read.push({ path, createdAtMillis, readAtMillis, counters });
      await (share.pause() ?? undefined);
    }
  }

  private async keepOnly(paths: readonly string[]): Promise<void> {
    const wanted = new Set(paths.slice(0, cgroupsReadMax));
    for (const [path, { slots }] of this.known) {
      if (wanted.has(path)) continue;
      for (const slot of slots) this.batch.remove(slot);
      this.known.delete(path);
    }
    const fresh = [...wanted].filter((path) => !this.known.has(path));
    const created = await Promise.all(fresh.map((path) => this.createdAt(path)));
    fresh.forEach((path, i) => {
      const createdAtMillis = created[i] ?? null;
      if (createdAtMillis !== null && !this.known.has(path)) this.known.set(path, { createdAtMillis, slots: this.register(path) });
    });
  }

  private register(path: string): readonly number[] {
    return this.files.all.map(({ mountPoint, file }) => this.batch.add(`${this.below(mountPoint, path)}/${file}`));
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

/** Those of a controller that is not mounted are left out; the small set comes first. */
function filesOf({ version, hierarchies }: CgroupLayout): Files {
  const unified = hierarchies[0]?.mountPoint ?? '/sys/fs/cgroup';
  const mountPointOf = (controller: string) => hierarchies.find(({ controllers }) => controllers.includes(controller))?.mountPoint ?? null;
  const rows =
    version === 2
      ? filesV2.map(([file, detail]) => ({ mountPoint: unified, file, detail }))
      : filesV1.flatMap(([controller, file, detail]) => {
          const mountPoint = mountPointOf(controller);
          return mountPoint === null ? [] : [{ mountPoint, file, detail }];
        });
  const small = rows.filter(({ detail }) => !detail);
  const all = [...small, ...rows.filter(({ detail }) => detail)];
  return { all, small: small.length, positions: new Map(all.map(({ file }, i) => [file, i])) };
}
