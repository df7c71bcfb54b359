// Creates and removes cgroups in every tree of the host. A name is a list of elements from the root of the trees.
// A pod's start and end are step lists that don't block the event loop: the kernel takes a lock of all cgroups for each step, for which
// other processes wait, too. A new cgroup's values are in the list that makes it.
// Invariant: a failed `make` removes what it made; removal is children first and never outside the requested cgroup.
import { readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { byPath, type FileStepOutcomes, type FileStepRunner, FileSteps, listedEntries, type StepIndex, tolerated } from '../../native-linux/index.js';
import { carriedOut, errnoName, FileRefusal, stepError } from '../../storage/index.js';
import type { CgroupLayout } from './cgroup-layout.js';
import { cgroupLevelsMax } from './cgroup-processes.js';
import { addValueSteps, type CgroupValueFile, type CgroupWrite, type ValueSteps, valueProblem, valueWrites } from './cgroup-values.js';

const directoryMode = 0o755;
const absent = -constants.errno.ENOENT;
/** A list of CPUs or controllers has some hundred. */
const valueBytesMax = 65_536;
/** A pod's cgroup without one of these, where the host has it, is not a pod's cgroup. */
const neededUnified = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];
const neededSeparate: ReadonlySet<string> = new Set(['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb']);
/** A new v1 cpuset has no CPU and no memory node, and accepts no process before it has. */
const inheritedFiles = ['cpuset.cpus', 'cpuset.mems'];

export interface MadeCgroup {
  /** Whether any directory was made for it. */
  readonly created: boolean;
  /** In the form of `missing`. */
  readonly missing: readonly string[];
  /** What kept values from being written; null: nothing. */
  readonly problem: Error | null;
}

/** Values that were written in the list that made the directories. */
interface WrittenValues {
  readonly list: FileSteps;
  readonly outcomes: FileStepOutcomes;
  readonly values: ValueSteps;
}

export class CgroupTree {
  constructor(
    readonly layout: CgroupLayout,
    private readonly steps: FileStepRunner,
  ) {}

  /** The cgroup's directory in each tree. */
  directories(name: readonly string[]): string[] {
    return this.layout.hierarchies.map(({ mountPoint }) => directoryOf(mountPoint, name));
  }

  /** `directories`, plus those that only runtimes make. */
  possibleDirectories(name: readonly string[]): string[] {
    const { hybrid } = this.layout;
    return hybrid === null ? this.directories(name) : [...this.directories(name), directoryOf(hybrid, name)];
  }

  /** The trees in which it is missing, or the controllers that it lacks; none when it is whole. */
  async missing(name: readonly string[]): Promise<string[]> {
    if (this.layout.version === 2) return (await this.missingControllers(name)) ?? ['cgroup.controllers'];
    const needed = this.layout.hierarchies.filter(({ controllers }) => controllers.some((controller) => neededSeparate.has(controller)));
    const directories = needed.map(({ mountPoint }) => directoryOf(mountPoint, name));
    const list = new FileSteps([]);
    const looks = directories.map((directory) => list.look(byPath, directory, tolerated.anything));
    const outcomes = await this.steps.run(list);
    return directories.filter((_, index) => outcomes.status(looks[index]!) < 0);
  }

  /**
   * Makes it with its parents in each tree, and writes its values.
   * @param rewrite writes the values even if it existed
   */
  async make(name: readonly string[], files: readonly CgroupValueFile[], rewrite: boolean): Promise<MadeCgroup> {
    const made: string[] = [];
    const writes = this.writesOf(name, files);
    // A new v1 cpuset gets its parent's CPUs first.
    const isEarly = rewrite && !writes.some(({ name: file }) => inheritedFiles.includes(file));
    let written: WrittenValues | null;
    let missing: readonly string[] = [];
    try {
      const last = await this.makeDirectories(name, made, isEarly ? writes : []);
      written = isEarly ? last : null;
      if (this.layout.version === 2) missing = (await this.missingControllers(name)) ?? ['cgroup.controllers'];
      if (missing.length > 0) {
        this.enableControllers(name);
        missing = (await this.missingControllers(name)) ?? ['cgroup.controllers'];
        written = null;
      }
    } catch (error) {
      await this.unmake(made);
      throw error;
    }
    const own = new Set(this.directories(name));
    const created = made.some((directory) => own.has(directory));
    if (missing.length > 0 || writes.length === 0 || (!created && !rewrite)) return { created, missing, problem: null };
    if (written === null) return { created, missing, problem: await this.write(writes) };
    return { created, missing, problem: await valueProblem(this.steps, written.list, written.outcomes, written.values) };
  }

  /** Writes values of an existing cgroup. Returns the error of one that couldn't be written; null: none. */
  async setValues(name: readonly string[], files: readonly CgroupValueFile[]): Promise<Error | null> {
    return this.write(this.writesOf(name, files));
  }

  private writesOf(name: readonly string[], files: readonly CgroupValueFile[]): CgroupWrite[] {
    return valueWrites(files, this.layout, (mountPoint) => directoryOf(mountPoint, name));
  }

  private async write(writes: readonly CgroupWrite[]): Promise<Error | null> {
    const list = new FileSteps([]);
    const values = addValueSteps(list, writes);
    return valueProblem(this.steps, list, await this.steps.run(list), values);
  }

  /** One try. False when something in it is busy: a process that has not ended, a child that was just made. Absent: true. */
  remove(name: readonly string[]): Promise<boolean> {
    return this.removeDirectories(this.possibleDirectories(name));
  }

  /** Names of the cgroups directly below one, in any of its trees. */
  async childNames(name: readonly string[]): Promise<Set<string>> {
    const list = new FileSteps([]);
    for (const directory of this.possibleDirectories(name)) list.list(byPath, directory, true, tolerated.absent);
    const outcomes = await carriedOut(this.steps, list);
    return new Set(list.steps.flatMap((_, index) => listedEntries(outcomes.text(index)).map((entry) => entry.name)));
  }

  private async removeDirectories(directories: readonly string[]): Promise<boolean> {
    const list = new FileSteps([]);
    for (const directory of directories) list.removeDirectories(byPath, directory, cgroupLevelsMax);
    const outcomes = await carriedOut(this.steps, list);
    return directories.every((_, index) => outcomes.status(index) === 1);
  }

  /** Removes only empty ones: others may have made theirs in a parent meanwhile. */
  private async unmake(made: readonly string[]): Promise<void> {
    const list = new FileSteps([]);
    for (const directory of made.toReversed()) list.removeDirectory(byPath, directory, tolerated.anything);
    await this.steps.run(list);
  }

  /** Tries the last level first: at a pod's start its parents exist. */
  private async makeDirectories(name: readonly string[], made: string[], writes: readonly CgroupWrite[]): Promise<WrittenValues> {
    const first = await this.makeLevel(name, made, writes);
    if (!('error' in first)) return first;
    // Nothing can be made at the root of a tree.
    if (name.length <= 1) throw first.error;
    await this.makeDirectories(name.slice(0, -1), made, []);
    const second = await this.makeLevel(name, made, writes);
    if ('error' in second) throw second.error;
    return second;
  }

  /** One directory in each tree, its inherited values, and its own. Parents may be missing, or lack the inherited values. */
  private async makeLevel(name: readonly string[], made: string[], writes: readonly CgroupWrite[]): Promise<WrittenValues | { readonly error: Error }> {
    const list = new FileSteps([]);
    const directories = this.directories(name);
    const makings = directories.map((directory) => list.makeDirectory(byPath, directory, directoryMode, tolerated.both));
    const inherited = this.inheritedValues(list, name);
    const values = addValueSteps(list, writes);
    const outcomes = await this.steps.run(list);
    directories.forEach((directory, index) => {
      if (outcomes.status(makings[index]!) >= 0) made.push(directory);
    });
    const failed = outcomes.failed(list) ?? makings.find((step) => outcomes.status(step) === absent) ?? null;
    if (failed !== null && outcomes.status(failed) !== absent) throw stepError(list, outcomes, failed);
    if (failed !== null) return { error: stepError(list, outcomes, failed) };
    const lacking = inherited.filter(({ own }) => outcomes.text(own).trim() === '');
    const empty = lacking.find(({ above }) => outcomes.text(above).trim() === '');
    if (empty !== undefined) return { error: new FileRefusal('failed-precondition', `nothing to inherit for ${empty.path}`) };
    const copies = new FileSteps([]);
    for (const { path, above } of lacking) copies.write(byPath, path, outcomes.text(above).trim());
    if (lacking.length > 0) await carriedOut(this.steps, copies);
    return { list, outcomes, values };
  }

  /** Also for an existing directory: a kill may have come between making it and writing into it. */
  private inheritedValues(list: FileSteps, name: readonly string[]): { readonly path: string; readonly own: StepIndex; readonly above: StepIndex }[] {
    const cpusets = this.layout.hierarchies.filter(({ controllers }) => controllers.includes('cpuset'));
    return cpusets.flatMap(({ mountPoint }) =>
      inheritedFiles.map((file) => {
        const path = `${directoryOf(mountPoint, name)}/${file}`;
        const above = `${directoryOf(mountPoint, name.slice(0, -1))}/${file}`;
        return { path, own: list.read(byPath, path, valueBytesMax, tolerated.absent), above: list.read(byPath, above, valueBytesMax, tolerated.absent) };
      }),
    );
  }

  /** Null when the cgroup does not exist. */
  private async missingControllers(name: readonly string[]): Promise<string[] | null> {
    const mountPoint = this.layout.hierarchies[0]!.mountPoint;
    const list = new FileSteps([]);
    const [own, root] = [name, []].map((of) => list.read(byPath, `${directoryOf(mountPoint, of)}/cgroup.controllers`, valueBytesMax, tolerated.anything)) as [number, number];
    const outcomes = await this.steps.run(list);
    if (outcomes.status(own) < 0 && !isGone(outcomes.status(own))) throw stepError(list, outcomes, own);
    const [present, available] = [own, root].map((step) => outcomes.text(step).split(/\s+/).filter(Boolean)) as [string[], string[]];
    return outcomes.status(own) < 0 ? null : neededUnified.filter((controller) => available.includes(controller) && !present.includes(controller));
  }

  /**
   * Every cgroup above it delegates all controllers of the host: a child has only those that its parent delegates. Runs once per class of pods, so it may
   * block the loop.
   */
  private enableControllers(name: readonly string[]): void {
    const mountPoint = this.layout.hierarchies[0]!.mountPoint;
    const available = controllersIn(`${mountPoint}/cgroup.controllers`) ?? [];
    for (let level = 0; level < name.length; level++) {
      const control = `${directoryOf(mountPoint, name.slice(0, level))}/cgroup.subtree_control`;
      const enabled = controllersIn(control) ?? [];
      const wanted = available.filter((controller) => !enabled.includes(controller)).map((controller) => `+${controller}`);
      if (wanted.length === 0 || tryWrite(control, wanted.join(' '))) continue;
      // A failed one must not prevent the others; the caller checks for missing ones.
      for (const one of wanted) tryWrite(control, one);
    }
  }
}

/** Removed, before or after its file was opened. */
function isGone(status: number): boolean {
  return status === absent || status === -constants.errno.ENODEV;
}

function directoryOf(mountPoint: string, name: readonly string[]): string {
  return name.length === 0 ? mountPoint : `${mountPoint}/${name.join('/')}`;
}

/** Null if the file is absent. */
function controllersIn(path: string): string[] | null {
  try {
    return readFileSync(path, 'latin1').split(/\s+/).filter(Boolean);
  } catch (error) {
    if (errnoName(error) === 'ENOENT' || errnoName(error) === 'ENODEV') return null;
    throw error;
  }
}

function tryWrite(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'r+' });
    return true;
  } catch {
    return false;
  }
}
