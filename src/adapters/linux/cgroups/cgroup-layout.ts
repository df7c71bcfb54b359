// How cgroups are mounted on a host: one tree for all controllers (v2), or one tree for each controller or group of them (v1).
// Hybrid hosts, with v1 controllers and a v2 tree without any elsewhere, count as v1, as everywhere in Kubernetes. See cgroups(7).
import { readFileSync } from 'node:fs';
import { parseMountinfo } from '../../native-linux/index.js';

/** The mount point of v2 if it is the host's layout. */
const unifiedMountPoint = '/sys/fs/cgroup';
/** The v2 mount point on hybrid hosts. runc puts a container's processes into this tree, too, below the same path. */
const hybridMountPoint = '/sys/fs/cgroup/unified';

export interface CgroupHierarchy {
  readonly mountPoint: string;
  /** `systemd` is the named tree without a controller. Empty on v2, where each directory lists its controllers. */
  readonly controllers: readonly string[];
}

export interface CgroupLayout {
  readonly version: 1 | 2;
  /** One on v2. By mount point. */
  readonly hierarchies: readonly CgroupHierarchy[];
  /** The v2 tree of a hybrid host: nothing is set in it, but runtimes make cgroups there that have to go with the pod. */
  readonly hybrid: string | null;
}

export function readCgroupLayout(mountinfoPath: string): CgroupLayout {
  return cgroupLayout(readFileSync(mountinfoPath, 'utf8'));
}

/** From the text of a mountinfo file. A controller that is mounted several times counts at its shortest path. */
export function cgroupLayout(mountinfo: string): CgroupLayout {
  const shortest = new Map<string, string>();
  let unified = false;
  let hybrid: string | null = null;
  for (const { mountPoint, fsType, superOptions } of parseMountinfo(mountinfo)) {
    // The later mount at one place is the one that is seen.
    if (mountPoint === unifiedMountPoint) unified = fsType === 'cgroup2';
    if (mountPoint === hybridMountPoint) hybrid = fsType === 'cgroup2' ? mountPoint : null;
    if (fsType !== 'cgroup') continue;
    for (const controller of superOptions.flatMap(controllerOf)) {
      const known = shortest.get(controller);
      if (known === undefined || mountPoint.length < known.length) shortest.set(controller, mountPoint);
    }
  }
  if (unified) return { version: 2, hierarchies: [{ mountPoint: unifiedMountPoint, controllers: [] }], hybrid: null };
  const byMountPoint = new Map<string, string[]>();
  for (const [controller, mountPoint] of shortest) byMountPoint.set(mountPoint, [...(byMountPoint.get(mountPoint) ?? []), controller]);
  const hierarchies = [...byMountPoint].map(([mountPoint, controllers]) => ({ mountPoint, controllers: controllers.sort() }));
  return { version: 1, hierarchies: hierarchies.sort((a, b) => (a.mountPoint < b.mountPoint ? -1 : 1)), hybrid };
}

/** Trees with other names belong to other programs. */
const knownControllers: ReadonlySet<string> = new Set('cpu cpuacct cpuset memory pids hugetlb blkio devices freezer net_cls net_prio perf_event rdma misc'.split(' '));

function controllerOf(option: string): readonly string[] {
  if (option === 'name=systemd') return ['systemd'];
  return knownControllers.has(option) ? [option] : [];
}
