// How cgroups are mounted on a host: one tree for all controllers (v2), or one tree for each controller or group of them (v1).
// Hybrid hosts, with v1 controllers and an empty v2 tree elsewhere, count as v1, as everywhere in Kubernetes. See cgroups(7).
import { readFileSync } from 'node:fs';
import { parseMountinfo } from '../../native-linux/index.js';

/** Where v2 is mounted when it is the host's layout. */
const unifiedMountPoint = '/sys/fs/cgroup';

export interface CgroupHierarchy {
  readonly mountPoint: string;
  /** `systemd` stands for the named tree without a controller. Empty on v2, where each directory says what it has. */
  readonly controllers: readonly string[];
}

export interface CgroupLayout {
  readonly version: 1 | 2;
  /** One on v2. By mount point. */
  readonly hierarchies: readonly CgroupHierarchy[];
}

export function readCgroupLayout(mountinfoPath: string): CgroupLayout {
  return cgroupLayout(readFileSync(mountinfoPath, 'utf8'));
}

/** From the text of a mountinfo file. A controller that is mounted several times counts at its shortest path. */
export function cgroupLayout(mountinfo: string): CgroupLayout {
  const shortest = new Map<string, string>();
  let unified = false;
  for (const { mountPoint, fsType, superOptions } of parseMountinfo(mountinfo)) {
    // The later mount at one place is the one that is seen.
    if (mountPoint === unifiedMountPoint) unified = fsType === 'cgroup2';
    if (fsType !== 'cgroup') continue;
    for (const controller of superOptions.flatMap(controllerOf)) {
      const known = shortest.get(controller);
      if (known === undefined || mountPoint.length < known.length) shortest.set(controller, mountPoint);
    }
  }
  if (unified) return { version: 2, hierarchies: [{ mountPoint: unifiedMountPoint, controllers: [] }] };
  const byMountPoint = new Map<string, string[]>();
  for (const [controller, mountPoint] of shortest) byMountPoint.set(mountPoint, [...(byMountPoint.get(mountPoint) ?? []), controller]);
  const hierarchies = [...byMountPoint].map(([mountPoint, controllers]) => ({ mountPoint, controllers: controllers.sort() }));
  return { version: 1, hierarchies: hierarchies.sort((a, b) => (a.mountPoint < b.mountPoint ? -1 : 1)) };
}

/** Trees that somebody else named are somebody else's. */
const knownControllers: ReadonlySet<string> = new Set('cpu cpuacct cpuset memory pids hugetlb blkio devices freezer net_cls net_prio perf_event rdma misc'.split(' '));

function controllerOf(option: string): readonly string[] {
  if (option === 'name=systemd') return ['systemd'];
  return knownControllers.has(option) ? [option] : [];
}
