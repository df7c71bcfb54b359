// The pods' cgroups as a model: which exist, and their values. The simulated runtime models the processes in them.
// Invariant: a cgroup's parents exist, and nothing outside the pods' cgroup is made or removed.
import type { CgroupValues } from '../../ports/model/cgroup-values.js';
import type { PodCgroupOperations } from '../../ports/outbound/pod-files.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';

/** Parents of pods below the pods' cgroup: Guaranteed pods directly, the others in their QoS class. */
const qosParents: readonly (readonly string[])[] = [[], ['burstable'], ['besteffort']];

export class SimPodCgroups {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  ensure({ name, values, rewrite }: PodCgroupOperations['ensure']['request']): PodCgroupOperations['ensure']['reply'] {
    this.checkMine(name);
    const path = name.join('/');
    const created = !this.state.cgroups.has(path);
    name.forEach((_, i) => {
      this.state.cgroups.add(name.slice(0, i + 1).join('/'));
    });
    if (values !== null && (created || rewrite)) this.write(path, values);
    return { created, problem: '' };
  }

  set({ name, values }: PodCgroupOperations['set']['request']): null {
    this.checkMine(name);
    const path = name.join('/');
    if (!this.state.cgroups.has(path)) {
      throw new HostRefusal('failed-precondition', `cgroup [${name.map((element) => JSON.stringify(element)).join(' ')}] has some missing paths: /${path}`);
    }
    this.write(path, values);
    return null;
  }

  destroy({ name }: PodCgroupOperations['destroy']['request']): null {
    this.check(name);
    const path = name.join('/');
    for (const other of this.state.cgroups) {
      if (other !== path && !other.startsWith(`${path}/`)) continue;
      this.state.cgroups.delete(other);
      this.state.cgroupValues.delete(other);
    }
    return null;
  }

  exists({ name }: PodCgroupOperations['exists']['request']): boolean {
    this.check(name);
    return this.state.cgroups.has(name.join('/'));
  }

  /** Containers of the simulated runtime are no processes of this host. */
  countProcesses({ name }: PodCgroupOperations['countProcesses']['request']): number {
    this.check(name);
    return 0;
  }

  list(): PodCgroupOperations['list']['reply'] {
    const found = qosParents.flatMap((parent) => {
      const prefix = [...this.settings.podsCgroup, ...parent].join('/');
      return [...this.state.cgroups].flatMap((path) => {
        const uid = /^pod(.+)$/.exec(path.startsWith(`${prefix}/`) ? path.slice(prefix.length + 1) : '')?.[1];
        return uid === undefined || /\/|pod/.test(uid) ? [] : [{ uid, name: path.split('/') }];
      });
    });
    return found.sort((a, b) => (a.uid < b.uid ? -1 : 1));
  }

  /** Absent values stay unchanged. */
  private write(path: string, values: CgroupValues): void {
    const before = this.state.cgroupValues.get(path);
    if (before === undefined) {
      this.state.cgroupValues.set(path, values);
      return;
    }
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
    const hugePageLimits = new Map([...before.hugePageLimits, ...values.hugePageLimits]);
    this.state.cgroupValues.set(path, { ...before, ...given, hugePageLimits, unified: { ...before.unified, ...values.unified } });
  }

  /** The cgroup of all pods, or one below it. */
  private checkMine(name: readonly string[]): void {
    const root = this.settings.podsCgroup;
    if (name.length !== root.length || root.some((element, i) => name[i] !== element)) this.check(name);
  }

  private check(name: readonly string[]): void {
    name.forEach(checkName);
    const root = this.settings.podsCgroup;
    if (name.length <= root.length || root.some((element, i) => name[i] !== element)) {
      throw new HostRefusal(name.length === 0 ? 'invalid-argument' : 'permission-denied', `/${name.join('/')} is not below /${root.join('/')}`);
    }
  }
}
