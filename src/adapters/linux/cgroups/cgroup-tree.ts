// Making and removing cgroups in every tree of the host. A name is a list of elements from the root of the trees.
// Resource values are written into the directories that `directories` names, by who knows the values.
// Invariant: what a failed `make` made is removed again; removal goes children first and never outside the cgroup it was asked for.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { errnoName } from '../../storage/index.js';
import type { CgroupLayout } from './cgroup-layout.js';
import { cgroupLevelsMax, childCgroups } from './cgroup-processes.js';

const directoryMode = 0o755;
/** A pod's cgroup without one of these, where the host has it, is not a pod's cgroup. */
const neededUnified = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];
const neededSeparate: ReadonlySet<string> = new Set(['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb']);

export class CgroupTree {
  constructor(readonly layout: CgroupLayout) {}

  /** The cgroup's directory in each tree. */
  directories(name: readonly string[]): string[] {
    return this.layout.hierarchies.map(({ mountPoint }) => directoryOf(mountPoint, name));
  }

  /** As `directories`, and where only runtimes make it. */
  possibleDirectories(name: readonly string[]): string[] {
    const { hybrid } = this.layout;
    return hybrid === null ? this.directories(name) : [...this.directories(name), directoryOf(hybrid, name)];
  }

  /** The trees in which it is missing, or the controllers that it lacks; none when it is whole. */
  missing(name: readonly string[]): string[] {
    if (this.layout.version === 2) return this.missingControllers(name) ?? ['cgroup.controllers'];
    const needed = this.layout.hierarchies.filter(({ controllers }) => controllers.some((controller) => neededSeparate.has(controller)));
    return needed.map(({ mountPoint }) => directoryOf(mountPoint, name)).filter((directory) => !existsSync(directory));
  }

  /** Makes it with its parents in each tree. Answers with whether any directory was made for it. */
  make(name: readonly string[]): boolean {
    const made: string[] = [];
    try {
      for (const { mountPoint, controllers } of this.layout.hierarchies) {
        makeDirectories(mountPoint, name, made);
        // Also of one that was there: a kill may have come between the two steps.
        if (controllers.includes('cpuset')) inheritCpuset(mountPoint, name);
      }
      if (this.layout.version === 2 && this.missingControllers(name)?.length !== 0) this.enableControllers(name);
    } catch (error) {
      this.unmake(made);
      throw error;
    }
    const own = new Set(this.directories(name));
    return made.some((directory) => own.has(directory));
  }

  /** One try. False when something in it is busy: a process that has not ended, a child that was just made. Absent: true. */
  remove(name: readonly string[]): boolean {
    return this.possibleDirectories(name)
      .map((directory) => removeWithChildren(directory, cgroupLevelsMax))
      .every(Boolean);
  }

  private unmake(made: readonly string[]): void {
    for (const directory of made.toReversed()) removeWithChildren(directory, cgroupLevelsMax);
  }

  /** Null when the cgroup does not exist. */
  private missingControllers(name: readonly string[]): string[] | null {
    const mountPoint = this.layout.hierarchies[0]!.mountPoint;
    const present = controllersIn(`${directoryOf(mountPoint, name)}/cgroup.controllers`);
    const available = controllersIn(`${mountPoint}/cgroup.controllers`) ?? [];
    return present === null ? null : neededUnified.filter((controller) => available.includes(controller) && !present.includes(controller));
  }

  /** Every cgroup above it passes on all controllers that the host has: a child has what its parent passes on. */
  private enableControllers(name: readonly string[]): void {
    const mountPoint = this.layout.hierarchies[0]!.mountPoint;
    const available = controllersIn(`${mountPoint}/cgroup.controllers`) ?? [];
    for (let level = 0; level < name.length; level++) {
      const control = `${directoryOf(mountPoint, name.slice(0, level))}/cgroup.subtree_control`;
      const enabled = controllersIn(control) ?? [];
      const wanted = available.filter((controller) => !enabled.includes(controller)).map((controller) => `+${controller}`);
      if (wanted.length === 0 || tryWrite(control, wanted.join(' '))) continue;
      // One that can't be passed on must not hold up the others; whether a needed one lacks is seen afterwards.
      for (const one of wanted) tryWrite(control, one);
    }
  }
}

function directoryOf(mountPoint: string, name: readonly string[]): string {
  return name.length === 0 ? mountPoint : `${mountPoint}/${name.join('/')}`;
}

/** The last one is tried first: at a pod's start its parents are there. */
function makeDirectories(mountPoint: string, name: readonly string[], made: string[]): void {
  const directory = directoryOf(mountPoint, name);
  try {
    mkdirSync(directory, { mode: directoryMode });
    made.push(directory);
  } catch (error) {
    if (errnoName(error) === 'EEXIST') return;
    if (errnoName(error) !== 'ENOENT' || name.length <= 1) throw error;
    makeDirectories(mountPoint, name.slice(0, -1), made);
    mkdirSync(directory, { mode: directoryMode });
    made.push(directory);
  }
}

/** A fresh v1 cpuset has no CPU and no memory node, and takes no process before it has. */
function inheritCpuset(mountPoint: string, name: readonly string[]): void {
  if (name.length === 0) return;
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const path = `${directoryOf(mountPoint, name)}/${file}`;
    if (readFileSync(path, 'latin1').trim() !== '') continue;
    inheritCpuset(mountPoint, name.slice(0, -1));
    writeFileSync(path, readFileSync(`${directoryOf(mountPoint, name.slice(0, -1))}/${file}`, 'latin1').trim(), { flag: 'r+' });
  }
}

/** Whether the directory is gone now. */
function removeWithChildren(directory: string, levels: number): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    if (errnoName(error) === 'ENOENT') return true;
    if (errnoName(error) !== 'EBUSY' && errnoName(error) !== 'ENOTEMPTY') throw error;
  }
  if (levels === 0) return false;
  const children = childCgroups(directory);
  if (children.length === 0 || !children.map((child) => removeWithChildren(`${directory}/${child}`, levels - 1)).every(Boolean)) return false;
  return removeWithChildren(directory, 0);
}

/** Null when there is no such file. */
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
