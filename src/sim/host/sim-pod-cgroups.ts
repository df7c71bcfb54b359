// The pods' cgroups as a model: which exist. What runs in them is the simulated runtime's matter.
// Invariant: a cgroup's parents exist, and nothing outside the pods' cgroup is made or removed.
import type { PodCgroupOperations } from '../../ports/outbound/pod-files.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';

/** Where pods stand below the pods' cgroup: Guaranteed directly, the others in their class's. */
const qosParents: readonly (readonly string[])[] = [[], ['burstable'], ['besteffort']];

export class SimPodCgroups {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  ensure({ name }: PodCgroupOperations['ensure']['request']): { readonly created: boolean } {
    this.check(name);
    const created = !this.state.cgroups.has(name.join('/'));
    name.forEach((_, i) => {
      this.state.cgroups.add(name.slice(0, i + 1).join('/'));
    });
    return { created };
  }

  destroy({ name }: PodCgroupOperations['destroy']['request']): null {
    this.check(name);
    const path = name.join('/');
    for (const other of this.state.cgroups) if (other === path || other.startsWith(`${path}/`)) this.state.cgroups.delete(other);
    return null;
  }

  exists({ name }: PodCgroupOperations['exists']['request']): boolean {
    this.check(name);
    return this.state.cgroups.has(name.join('/'));
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

  private check(name: readonly string[]): void {
    name.forEach(checkName);
    const root = this.settings.podsCgroup;
    if (name.length <= root.length || root.some((element, i) => name[i] !== element)) {
      throw new HostRefusal(name.length === 0 ? 'invalid-argument' : 'permission-denied', `/${name.join('/')} is not below /${root.join('/')}`);
    }
  }
}
