// Reads the counters of many cgroups in a few batches, away from the main thread.
//
// Invariants: a walk and a batch are bounded; a cgroup that vanishes between walk and read is omitted; results are assembled
// in slices, so that none blocks the event loop for long.

import { stat } from 'node:fs/promises';
import type { Micros } from '../../../ports/micros.js';
import type { FileBatchNumbers, NativeLinux } from '../../native-linux/index.js';
import { LoopShare } from '../../time/index.js';
import type { CgroupLayout } from '../cgroups/cgroup-layout.js';
import { type CgroupCounters, type CgroupDetail, type CgroupFile, type CgroupFiles, countersV1, countersV2, filesV1, filesV2, isReadFor } from './cgroup-counters.js';
import { CgroupWalk } from './cgroup-walk.js';

export interface ReadCgroup {
  /** From the root of the trees: `/`, `/kubepods/besteffort/pod<uid>`. */
  readonly path: string;
  readonly createdAtMillis: number;
  /** When it was read. */
  readonly readAtMillis: number;
  /** The same by the clock that is never set. */
  readonly readAt: Micros;
  readonly counters: CgroupCounters;
}

export interface CgroupReaderOptions {
  readonly native: Pick<NativeLinux, 'openFileBatch'>;
  readonly layout: CgroupLayout;
  /** The wall clock. */
  readonly nowMillis: () => number;
  readonly now: () => Micros;
  /** Kept open between readings; 512 when left out. */
  readonly descriptorsMax?: number;
  /** Prefix of the mount points: '' on a host, a recorded tree in tests. */
  readonly hostRoot?: string;
}

type Batch = ReturnType<NativeLinux['openFileBatch']>;

interface Registered {
  readonly createdAtMillis: number;
  /** One for each file that this host can have, in that order. */
  readonly slots: readonly number[];
}

/** The files that are read for one detail. */
interface FileSet {
  /** Which of all files they are. */
  readonly numbers: readonly number[];
  readonly texts: readonly number[];
  /** The position of each among those of its kind. */
  readonly numberAt: ReadonlyMap<string, number>;
  readonly textAt: ReadonlyMap<string, number>;
}

interface Wanted {
  readonly path: string;
  readonly registered: Registered;
  readonly set: FileSet;
}

/** Files of one batch. */
const batchFilesMax = 2048;
/** Of one file: enough for the processes of a busy root. */
const itemBytesMax = 65_536;
/** Kept open between readings: rereading one costs a quarter of opening it. */
export const statsDescriptorsMax = 8192;
export const cgroupsReadMax = 4096;
const levelsMax = 8;

export class CgroupReader {
  private readonly batch: Batch;
  private readonly known = new Map<string, Registered>();
  private readonly files: readonly HostFile[];
  private readonly sets = new Map<CgroupDetail, FileSet>();
  private readonly tree: CgroupWalk;

  constructor(private readonly options: CgroupReaderOptions) {
    this.batch = options.native.openFileBatch({ descriptorsMax: options.descriptorsMax ?? 512, itemBytesMax });
    this.files = filesOf(options.layout);
    this.tree = new CgroupWalk({ batch: this.batch, directoryOf: (path) => this.directory(path), cgroupsMax: cgroupsReadMax, levelsMax });
  }

  close(): void {
    this.known.clear();
    this.batch.close();
  }

  /** Closes all files while no client reads them; the next reading opens them again. */
  rest(): void {
    for (const { slots } of this.known.values()) for (const slot of slots) this.batch.remove(slot);
    this.known.clear();
    this.tree.forget();
  }

  /** The cgroup and all below it, in no order, within the bounds; none when it is absent. */
  walk(top: string): Promise<string[]> {
    return this.tree.walk(top);
  }

  /** Reads the existing cgroups, each with the detail of `detailOf`. Forgets all others. */
  async read(paths: readonly string[], detailOf: (path: string) => CgroupDetail): Promise<ReadCgroup[]> {
    await this.keepOnly(paths);
    return this.readKnown([...this.known.keys()], detailOf);
  }

  /** Reads some known cgroups again; omits unknown ones. */
  async readKnown(paths: readonly string[], detailOf: (path: string) => CgroupDetail): Promise<ReadCgroup[]> {
    const read: ReadCgroup[] = [];
    let batch: Wanted[] = [];
    let files = 0;
    for (const path of paths) {
      const registered = this.known.get(path);
      if (registered === undefined) continue;
      const set = this.setOf(detailOf(path));
      files += set.numbers.length + set.texts.length;
      if (files > batchFilesMax) {
        await this.readBatch(batch, read);
        [batch, files] = [[], set.numbers.length + set.texts.length];
      }
      batch.push({ path, registered, set });
    }
    await this.readBatch(batch, read);
    return read;
  }

  private async readBatch(wanted: readonly Wanted[], read: ReadCgroup[]): Promise<void> {
    if (wanted.length === 0) return;
    const readAtMillis = this.options.nowMillis();
    const readAt = this.options.now();
    const textSlots = slotsOf(wanted, 'texts');
    const [numbers, texts] = await Promise.all([
      this.batch.numbersInBackground(slotsOf(wanted, 'numbers')),
      textSlots.length === 0 ? null : this.batch.readInBackground(textSlots),
    ]);
    const countersOf = this.options.layout.version === 1 ? countersV1 : countersV2;
    const files = new FilesOfOne(numbers, (index) => texts?.text(index) ?? null);
    const share = new LoopShare();
    for (const { path, registered, set } of wanted) {
      files.set = set;
      const counters = countersOf(files);
      files.firstNumber += set.numbers.length;
      files.firstText += set.texts.length;
      const vanished = counters.cpu === null && counters.memory === null && counters.pids === null;
      if (!vanished) read.push({ path, createdAtMillis: registered.createdAtMillis, readAtMillis, readAt, counters });
      await (share.pause() ?? undefined);
    }
  }

  private setOf(detail: CgroupDetail): FileSet {
    const known = this.sets.get(detail);
    if (known !== undefined) return known;
    const read = this.files.flatMap((file, i) => (isReadFor(detail, file.purpose) ? [{ name: file.file, isText: file.form === null, i }] : []));
    const [texts, numbers] = [read.filter(({ isText }) => isText), read.filter(({ isText }) => !isText)];
    const positions = (of: typeof read) => new Map(of.map(({ name }, position) => [name, position]));
    const set = { numbers: numbers.map(({ i }) => i), texts: texts.map(({ i }) => i), numberAt: positions(numbers), textAt: positions(texts) };
    this.sets.set(detail, set);
    return set;
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
    return this.files.map(({ mountPoint, file, form }) => {
      const whole = `${this.below(mountPoint, path)}/${file}`;
      return form === null ? this.batch.add(whole) : this.batch.addNumbers(whole, form);
    });
  }

  /** null if it is gone. The times of a cgroup's files on v1, and of its directory on v2, are those of its creation. */
  private async createdAt(path: string): Promise<number | null> {
    const directory = this.directory(path);
    for (const looked of this.options.layout.version === 1 ? [`${directory}/cgroup.clone_children`, directory] : [directory]) {
      try {
        return Math.floor((await stat(looked)).mtimeMs);
      } catch {
        // Tries the next one, or it is gone.
      }
    }
    return null;
  }

  /** In the walked tree. On v1 the CPU's: every runtime puts its cgroups there. */
  private directory(path: string): string {
    const { hierarchies } = this.options.layout;
    const walked = hierarchies.find(({ controllers }) => controllers.includes('cpu')) ?? hierarchies[0];
    return this.below(walked?.mountPoint ?? '/sys/fs/cgroup', path);
  }

  private below(mountPoint: string, path: string): string {
    return `${this.options.hostRoot ?? ''}${mountPoint}${path === '/' ? '' : path}`;
  }
}

interface HostFile extends CgroupFile {
  readonly mountPoint: string;
}

/** Omits files of controllers that are not mounted. */
function filesOf({ version, hierarchies }: CgroupLayout): readonly HostFile[] {
  const unified = hierarchies[0]?.mountPoint ?? '/sys/fs/cgroup';
  if (version === 2) return filesV2.map((file) => ({ mountPoint: unified, ...file }));
  return filesV1.flatMap((file) => {
    const found = hierarchies.find(({ controllers }) => controllers.includes(file.controller));
    return found === undefined ? [] : [{ mountPoint: found.mountPoint, ...file }];
  });
}

/** Thousands for one answer: no list is made for each cgroup. */
function slotsOf(wanted: readonly Wanted[], kind: 'numbers' | 'texts'): Int32Array {
  let count = 0;
  for (const { set } of wanted) count += set[kind].length;
  const slots = new Int32Array(count);
  let at = 0;
  for (const { registered, set } of wanted) for (const file of set[kind]) slots[at++] = registered.slots[file] ?? 0;
  return slots;
}

const noFiles: FileSet = { numbers: [], texts: [], numberAt: new Map(), textAt: new Map() };

/** A cursor over the files of many cgroups that shows one at a time. */
class FilesOfOne implements CgroupFiles {
  set: FileSet = noFiles;
  firstNumber = 0;
  firstText = 0;

  constructor(
    private readonly numbers: FileBatchNumbers,
    private readonly textAt: (index: number) => string | null,
  ) {}

  has(file: string): boolean {
    const position = this.set.numberAt.get(file);
    return position !== undefined && this.numbers.count(this.firstNumber + position) >= 0;
  }

  at(file: string, position: number): number {
    const index = this.set.numberAt.get(file);
    return index === undefined ? Number.NaN : this.numbers.at(this.firstNumber + index, position);
  }

  all(file: string): readonly number[] | null {
    const index = this.set.numberAt.get(file);
    return index === undefined ? null : this.numbers.all(this.firstNumber + index);
  }

  text(file: string): string | null {
    const index = this.set.textAt.get(file);
    return index === undefined ? null : this.textAt(this.firstText + index);
  }
}
