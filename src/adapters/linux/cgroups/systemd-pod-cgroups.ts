// The pods' cgroups as systemd slices (the `systemd` driver), on cgroup v1 and v2. systemd makes a slice's cgroup and maintains its properties; the
// rest (v2 controllers without accounting, v1 trees unknown to systemd) is done on the directories as in the cgroupfs driver.
// Invariants: those of the cgroupfs driver; and a slice's unit is started before its directories are made, and stopped before they are removed, so that
// systemd doesn't remove directories that it doesn't know.
import type { CgroupValues } from '../../../ports/model/cgroup-values.js';
import type { Call, PortOf } from '../../../ports/operation.js';
import type { PodCgroupOperations } from '../../../ports/outbound/pod-files.js';
import { PortError, type PortErrorKind } from '../../../ports/port-error.js';
import { FallbackFileSteps } from '../../native-linux/index.js';
import { carryOut, checkName, FileRefusal } from '../../storage/index.js';
import { DbusDisconnected, DbusRefusal, DbusTimeout, type SystemdUnits, UnitFailure } from '../../systemd/index.js';
import { readCgroupLayout } from './cgroup-layout.js';
import { killProcesses, killUnified } from './cgroup-processes.js';
import { CgroupTree } from './cgroup-tree.js';
import { type CgroupfsOptions, CgroupfsPodCgroups } from './cgroupfs-pod-cgroups.js';

/** How names become slices; the domain's rules. */
export interface SliceNaming {
  /** The directories of a cgroup from the root of the trees: each slice lies in that of the level above. */
  directories(name: readonly string[]): readonly string[];
  /** The unit and the slice it lies in; null for the root. */
  units(name: readonly string[]): { readonly unit: string; readonly parent: string } | null;
  /** The name of a slice. */
  parse(unit: string): readonly string[];
}

/** Splits a cgroup's values into systemd properties and later writes to files, by the domain's rules. */
export type SliceSettingsOf = (
  values: CgroupValues,
  cgroupVersion: 1 | 2,
  systemdVersion: number,
) => { readonly properties: readonly { readonly name: string; readonly value: bigint | Uint8Array }[]; readonly config: CgroupValues };

export interface SystemdPodCgroupsOptions extends CgroupfsOptions {
  readonly units: SystemdUnits;
  readonly naming: SliceNaming;
  readonly settings: SliceSettingsOf;
}

const qosParents: readonly (readonly string[])[] = [[], ['burstable'], ['besteffort']];
const podPrefix = 'pod';
const sliceSuffix = '.slice';

export class SystemdPodCgroups implements PortOf<PodCgroupOperations> {
  private readonly plain: CgroupfsPodCgroups;
  private readonly tree: CgroupTree;
  private readonly root: readonly string[];
  private readonly reserved: ReadonlySet<string>;
  /** Started units above the pods': those of the classes and of the root. */
  private readonly begun = new Set<string>();

  constructor(private readonly options: SystemdPodCgroupsOptions) {
    this.root = options.podsCgroup.map(checkName);
    const layout = options.layout ?? readCgroupLayout('/proc/self/mountinfo');
    const steps = options.steps ?? new FallbackFileSteps();
    const reserved = options.reservedCgroups ?? [];
    this.reserved = new Set(reserved.map((name) => name.join('/')));
    const directories = { podsCgroup: options.naming.directories(this.root), reservedCgroups: reserved.map((name) => options.naming.directories(name)) };
    this.plain = new CgroupfsPodCgroups({ ...directories, files: options.files, layout, steps });
    this.tree = new CgroupTree(layout, steps);
  }

  get version(): 1 | 2 {
    return this.tree.layout.version;
  }

  async ensure({ name, values, rewrite }: PodCgroupOperations['ensure']['request'], call: Call): Promise<PodCgroupOperations['ensure']['reply']> {
    const started = await this.work('podCgroups.ensure', name, call, async () => {
      for (let length = this.root.length; length < name.length; length++) await this.begin(name.slice(0, length));
      return this.start(name);
    });
    // A slice that was started now has its directories already, with the initial values.
    const writes = rewrite || started;
    const applied = values === null || !writes ? { values, problem: '' } : await this.setPropertiesTolerantly(name, values, call);
    const made = await this.plain.ensure({ name: this.options.naming.directories(name), values: applied.values, rewrite: writes }, call);
    return { created: started || made.created, problem: applied.problem === '' ? made.problem : applied.problem };
  }

  async set({ name, values }: PodCgroupOperations['set']['request'], call: Call): Promise<null> {
    const applied = await this.work('podCgroups.set', name, call, () => this.setProperties(name, values));
    return this.plain.set({ name: this.options.naming.directories(name), values: applied }, call);
  }

  /** Answers with the values as systemd keeps them. */
  private async setProperties(name: readonly string[], values: CgroupValues): Promise<CgroupValues> {
    const { properties, config } = this.options.settings(values, this.version, await this.options.units.version());
    const withSignatures = properties.map(({ name: property, value }) => ({ name: property, signature: typeof value === 'bigint' ? 't' : 'ay', value }));
    await this.options.units.setProperties(this.unitsOf(name).unit, withSignatures);
    return config;
  }

  /** What systemd doesn't take is written to files all the same. */
  private async setPropertiesTolerantly(name: readonly string[], values: CgroupValues, call: Call): Promise<{ readonly values: CgroupValues; readonly problem: string }> {
    try {
      return { values: await this.work('podCgroups.ensure', name, call, () => this.setProperties(name, values)), problem: '' };
    } catch (error) {
      if (!(error instanceof PortError)) throw error;
      return { values, problem: error.message };
    }
  }

  async destroy({ name }: PodCgroupOperations['destroy']['request'], call: Call): Promise<null> {
    await this.work('podCgroups.destroy', name, call, async () => {
      // systemd would ask its processes to end, and wait for them.
      const directories = this.tree.possibleDirectories(this.options.naming.directories(name));
      if (this.version === 1 || !directories.every(killUnified)) killProcesses(directories);
      await this.options.units.stop(this.unitsOf(name).unit);
    });
    return this.plain.destroy({ name: this.options.naming.directories(name) }, call);
  }

  exists({ name }: PodCgroupOperations['exists']['request'], call: Call): Promise<boolean> {
    return this.work('podCgroups.exists', name, call, () => this.plain.exists({ name: this.options.naming.directories(name) }, call));
  }

  countProcesses({ name }: PodCgroupOperations['countProcesses']['request'], call: Call): Promise<number> {
    return this.work('podCgroups.countProcesses', name, call, () => this.plain.countProcesses({ name: this.options.naming.directories(name) }, call));
  }

  list(_request: null, call: Call): Promise<PodCgroupOperations['list']['reply']> {
    return carryOut('podCgroups.list', `/${this.options.naming.directories(this.root).join('/')}`, call, async () => {
      const found: { readonly uid: string; readonly name: readonly string[] }[] = [];
      for (const below of qosParents) {
        const parent = [...this.root, ...below];
        for (const child of await this.tree.childNames(this.options.naming.directories(parent))) {
          const uid = this.podUidOf(parent, child);
          if (uid !== null) found.push({ uid, name: [...parent, `${podPrefix}${uid}`] });
        }
      }
      return found.sort((a, b) => (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0));
    });
  }

  private async begin(name: readonly string[]): Promise<void> {
    const { unit } = this.unitsOf(name);
    if (this.begun.has(unit)) return;
    await this.start(name);
    // Deeper names don't recur; those of the QoS classes and of the root are few.
    if (name.length <= this.root.length + 1) this.begun.add(unit);
  }

  private start(name: readonly string[]): Promise<boolean> {
    const { unit, parent } = this.unitsOf(name);
    return this.options.units.startSlice(unit, parent, this.version);
  }

  private unitsOf(name: readonly string[]): { readonly unit: string; readonly parent: string } {
    const units = this.options.naming.units(name);
    if (units === null) throw new FileRefusal('invalid-argument', 'the root cgroup belongs to no pod');
    return units;
  }

  /** The uid in `...-pod<uid>.slice` directly below `parent`; null for other units. */
  private podUidOf(parent: readonly string[], child: string): string | null {
    if (!child.endsWith(sliceSuffix)) return null;
    const name = this.options.naming.parse(child);
    if (name.length !== parent.length + 1) return null;
    const [before, uid, ...more] = name[name.length - 1]!.split(podPrefix);
    return before === '' && uid !== undefined && uid !== '' && more.length === 0 ? uid : null;
  }

  private work<T>(operation: string, name: readonly string[], call: Call, work: () => Promise<T>): Promise<T> {
    return carryOut(operation, `/${name.join('/')}`, call, async () => {
      const isRoot = name.length === this.root.length && this.root.every((element, i) => name[i] === element);
      const setsValues = operation === 'podCgroups.ensure' || operation === 'podCgroups.set';
      if (!setsValues || !(isRoot || (operation === 'podCgroups.set' && this.reserved.has(name.join('/'))))) this.check(name);
      try {
        return await work();
      } catch (error) {
        throw systemdError(error, operation, this.unitsOf(name).unit);
      }
    });
  }

  private check(name: readonly string[]): void {
    if (name.length === 0) throw new FileRefusal('invalid-argument', 'the root cgroup belongs to no pod');
    name.forEach(checkName);
    if (name.length <= this.root.length || this.root.some((element, i) => name[i] !== element)) {
      throw new FileRefusal('permission-denied', `/${name.join('/')} is not below /${this.root.join('/')}`);
    }
  }
}

/** The error of systemd or of the connection to it, as a port error. */
function systemdError(error: unknown, operation: string, subject: string): unknown {
  const kind = kindOf(error);
  return kind === null || !(error instanceof Error) ? error : new PortError({ kind, message: error.message, operation, subject, cause: error });
}

function kindOf(error: unknown): PortErrorKind | null {
  if (error instanceof DbusDisconnected) return 'unavailable';
  if (error instanceof DbusTimeout) return 'deadline-exceeded';
  if (error instanceof UnitFailure) return 'failed-precondition';
  if (!(error instanceof DbusRefusal)) return null;
  return error.errorName === 'org.freedesktop.DBus.Error.AccessDenied' ? 'permission-denied' : 'failed-precondition';
}
