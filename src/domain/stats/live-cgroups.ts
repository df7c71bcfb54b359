// Which cgroup belongs to which container, sandbox or pod, and whether anything lives in it: runtimes leave cgroups of the dead behind.
// Invariant: at most one cgroup of a container counts.

import type { CgroupSample } from '../../ports/model/cgroup-sample.js';
import { containerIdOfCgroup, lastElement } from '../values/container-cgroup.js';
import { compareInstants } from '../values/instant.js';
import { byCodeUnits } from '../values/text-order.js';

export type Cgroups = Readonly<Record<string, CgroupSample>>;

const podName = 'io.kubernetes.pod.name';
const podNamespace = 'io.kubernetes.pod.namespace';
const podUid = 'io.kubernetes.pod.uid';
const containerName = 'io.kubernetes.container.name';

/** Live cgroups of containers and sandboxes, by container id. */
export function liveCgroups(cgroups: Cgroups): ReadonlyMap<string, CgroupSample> {
  const sameLabels = new Map<string, [path: string, sample: CgroupSample][]>();
  for (const [path, sample] of Object.entries(cgroups)) {
    const { labels } = sample;
    // systemd makes a mount unit, with the container's labels, of each mount in it.
    if (path.endsWith('.mount') || (labels[podName] ?? '') === '' || (labels[podNamespace] ?? '') === '') continue;
    // A line each: no name has a line break.
    const key = `${labels[podNamespace]}\n${labels[podName]}\n${labels[podUid]}\n${labels[containerName] ?? ''}`;
    const same = sameLabels.get(key);
    if (same === undefined) sameLabels.set(key, [[path, sample]]);
    else same.push([path, sample]);
  }
  const live = new Map<string, CgroupSample>();
  for (const candidates of sameLabels.values()) {
    const chosen = candidates.length === 1 ? candidates.find(([, sample]) => isLive(sample)) : newestInUse(candidates);
    if (chosen !== undefined) live.set(containerIdOfCgroup(chosen[0]), chosen[1]);
  }
  return live;
}

/** A restarted container leaves several cgroups; the newest active one counts. */
function newestInUse(candidates: readonly [path: string, sample: CgroupSample][]): [path: string, sample: CgroupSample] | undefined {
  return [...candidates].sort(([pathA, a], [pathB, b]) => compareInstants(b.createdAt, a.createdAt) || byCodeUnits(pathB, pathA)).find(([, sample]) => isInUse(sample));
}

function isInUse({ hasCpu, hasMemory, reading }: CgroupSample): boolean {
  return hasCpu && hasMemory && (reading?.cpu?.usageNanoCores ?? 0) > 0 && (reading?.memory?.rssBytes ?? 0) > 0;
}

function isLive({ hasCpu, hasMemory, hasNetwork, reading }: CgroupSample): boolean {
  if ((!hasCpu && !hasMemory && !hasNetwork) || reading === null) return false;
  if (hasNetwork && reading.network.some(({ rxBytes, rxErrors, txBytes, txErrors }) => rxBytes !== 0 || rxErrors !== 0 || txBytes !== 0 || txErrors !== 0)) return true;
  const rate = reading.cpu?.usageNanoCores ?? null;
  if (rate === null || reading.memory === null) return false;
  return rate !== 0 || reading.memory.rssBytes !== 0;
}

/** The pods' own cgroups, by `pod<uid>`; systemd's names are undone. */
export function podCgroups(cgroups: Cgroups): ReadonlyMap<string, CgroupSample> {
  const found = new Map<string, CgroupSample>();
  for (const path of Object.keys(cgroups)) found.set(podKeyOfCgroup(path), cgroups[path] as CgroupSample);
  return found;
}

export function podCgroupKey(uid: string): string {
  return `pod${uid}`;
}

function podKeyOfCgroup(path: string): string {
  const element = lastElement(path);
  if (!element.endsWith('.slice')) return element;
  const slice = element.slice(0, -'.slice'.length);
  return slice.slice(slice.lastIndexOf('-') + 1).replaceAll('_', '-');
}
