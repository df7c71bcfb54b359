// The pods' cgroups as plain directories (the `cgroupfs` driver), on cgroup v1 and v2.
// Invariant: empties, removes and lists only cgroups below the pods' cgroup; makes and sets only those and the pods' cgroup itself; cgroups
// reserved by name are only set. (On v2 it makes those above the pods' cgroup, to delegate controllers.)
import { setTimeout as delay } from 'node:timers/promises';
import type { Call, PortOf } from '../../../ports/operation.js';
import type { PodCgroupOperations } from '../../../ports/outbound/pod-files.js';
import { PortError } from '../../../ports/port-error.js';
import { FallbackFileSteps, type FileStepRunner } from '../../native-linux/index.js';
import { carryOut, checkName, FileRefusal } from '../../storage/index.js';
import { type CgroupLayout, readCgroupLayout } from './cgroup-layout.js';
import { countProcesses, killProcesses, killUnified, thaw } from './cgroup-processes.js';
import { CgroupTree } from './cgroup-tree.js';
import type { CgroupFilesOf } from './cgroup-values.js';

/** Waits double from 1 ms: about a second in all, in which a killed process has ended unless the kernel holds it. */
const removalTriesMax = 10;
/** Parents of pods below the pods' cgroup: Guaranteed pods directly, the others in their QoS class. */
const qosParents: readonly (readonly string[])[] = [[], ['burstable'], ['besteffort']];
const podPrefix = 'pod';

export interface CgroupfsOptions {
  /** The cgroup of all pods, from the root of the trees: the configured cgroup root and `kubepods`. Nothing outside of it is touched. */
  readonly podsCgroup: readonly string[];
  /** Cgroups of the node's own elsewhere, which are set but never made. */
  readonly reservedCgroups?: readonly (readonly string[])[];
  /** How values become files. */
  readonly files: CgroupFilesOf;
  /** How cgroups are mounted; read from the host when not given. */
  readonly layout?: CgroupLayout;
  /** The runner of step lists; plain Node by default. */
  readonly steps?: FileStepRunner;
}

export class CgroupfsPodCgroups implements PortOf<PodCgroupOperations> {
  private readonly tree: CgroupTree;
  private readonly root: readonly string[];

  private readonly reserved: ReadonlySet<string>;

  constructor(private readonly options: CgroupfsOptions) {
    this.root = options.podsCgroup.map(checkName);
    if (this.root.length === 0) throw new FileRefusal('invalid-argument', 'the pods need a cgroup of their own');
    this.reserved = new Set((options.reservedCgroups ?? []).map((name) => name.map(checkName).join('/')).filter((path) => path !== ''));
    this.tree = new CgroupTree(options.layout ?? readCgroupLayout('/proc/self/mountinfo'), options.steps ?? new FallbackFileSteps());
  }

  get version(): 1 | 2 {
    return this.tree.layout.version;
  }

  ensure({ name, values, rewrite }: PodCgroupOperations['ensure']['request'], call: Call): Promise<PodCgroupOperations['ensure']['reply']> {
    return carryOut('podCgroups.ensure', `/${name.join('/')}`, call, async () => {
      this.checkMine(name);
      const files = values === null ? [] : this.options.files(values, this.version);
      const { created, missing, problem } = await this.tree.make(name, files, rewrite);
      if (missing.length === 0) return { created, problem: problem?.message ?? '' };
      if (created) await this.tree.remove(name);
      throw this.notWhole(name, missing);
    });
  }

  set({ name, values }: PodCgroupOperations['set']['request'], call: Call): Promise<null> {
    return carryOut('podCgroups.set', `/${name.join('/')}`, call, async () => {
      if (!this.reserved.has(name.join('/'))) this.checkMine(name);
      const missing = await this.tree.missing(name);
      if (missing.length > 0) throw this.notWhole(name, missing);
      const problem = await this.tree.setValues(name, this.options.files(values, this.version));
      if (problem !== null) throw problem;
      return null;
    });
  }

  destroy({ name }: PodCgroupOperations['destroy']['request'], call: Call): Promise<null> {
    const subject = `/${name.join('/')}`;
    return carryOut('podCgroups.destroy', subject, call, async () => {
      this.check(name);
      for (let tries = 0; !(await this.tree.remove(name)); tries++) {
        this.kill(name);
        if (tries === removalTriesMax)
          throw new FileRefusal('failed-precondition', `${subject} is busy: ${countProcesses(this.tree.possibleDirectories(name))} processes are left`);
        await delay(2 ** tries);
        if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: 'context canceled', operation: 'podCgroups.destroy', subject });
      }
      return null;
    });
  }

  exists({ name }: PodCgroupOperations['exists']['request'], call: Call): Promise<boolean> {
    return carryOut('podCgroups.exists', `/${name.join('/')}`, call, async () => {
      this.check(name);
      return (await this.tree.missing(name)).length === 0;
    });
  }

  countProcesses({ name }: PodCgroupOperations['countProcesses']['request'], call: Call): Promise<number> {
    return carryOut('podCgroups.countProcesses', `/${name.join('/')}`, call, async () => {
      this.check(name);
      return countProcesses(this.tree.possibleDirectories(name));
    });
  }

  list(_request: null, call: Call): Promise<PodCgroupOperations['list']['reply']> {
    return carryOut('podCgroups.list', `/${this.root.join('/')}`, call, async () => {
      const found = new Map<string, { readonly uid: string; readonly name: readonly string[] }>();
      for (const below of qosParents) {
        const parent = [...this.root, ...below];
        for (const child of await this.tree.childNames(parent)) {
          const uid = podUidOf(child);
          if (uid !== null) found.set(`${below.join('/')}/${child}`, { uid, name: [...parent, child] });
        }
      }
      return [...found.values()].sort((a, b) => (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0));
    });
  }

  private kill(name: readonly string[]): void {
    const directories = this.tree.possibleDirectories(name);
    if (this.version === 2 && directories.every(killUnified)) return;
    killProcesses(directories);
    for (const directory of directories) thaw(directory);
  }

  private notWhole(name: readonly string[], missing: readonly string[]): FileRefusal {
    const what = this.version === 2 ? 'controllers' : 'paths';
    return new FileRefusal('failed-precondition', `cgroup [${name.map((element) => JSON.stringify(element)).join(' ')}] has some missing ${what}: ${missing.join(', ')}`);
  }

  /** The cgroup of all pods, or one below it. */
  private checkMine(name: readonly string[]): void {
    if (name.length !== this.root.length || this.root.some((element, i) => name[i] !== element)) this.check(name);
  }

  private check(name: readonly string[]): void {
    if (name.length === 0) throw new FileRefusal('invalid-argument', 'the root cgroup belongs to no pod');
    name.forEach(checkName);
    if (name.length <= this.root.length || this.root.some((element, i) => name[i] !== element)) {
      throw new FileRefusal('permission-denied', `/${name.join('/')} is not below /${this.root.join('/')}`);
    }
  }
}

/** The uid in `pod<uid>`; null for names of other cgroups. */
function podUidOf(name: string): string | null {
  const [before, uid, ...more] = name.split(podPrefix);
  return before === '' && uid !== undefined && uid !== '' && more.length === 0 ? uid : null;
}
