// Where a pod's cgroup stands in the node's tree: root, `kubepods`, the QoS class's group (none for Guaranteed), `pod<uid>`.
// Invariant: the class picks the parent, so a pod's name changes with its class; that is why the class in its status is kept.
import type { QosClass } from '../qos/qos-class.js';
import { type CgroupDriver, type CgroupName, composeCgroupName, parseCgroupPath } from './cgroup-name.js';

const podsGroup = 'kubepods';
const podPrefix = 'pod';
const classGroups: Readonly<Record<QosClass, readonly string[]>> = { Guaranteed: [], Burstable: ['burstable'], BestEffort: ['besteffort'] };

/** The cgroup that holds all pods; without a cgroup per QoS class the configured root itself. @param cgroupRoot in cgroupfs form, whatever the driver */
export function nodeAllocatableCgroup(cgroupRoot: string, cgroupsPerQos: boolean): CgroupName {
  const root = parseCgroupPath('cgroupfs', cgroupRoot);
  return cgroupsPerQos ? composed(root, podsGroup) : root;
}

export function qosClassCgroup(cgroupRoot: string, qosClass: QosClass): CgroupName {
  return composed(nodeAllocatableCgroup(cgroupRoot, true), ...classGroups[qosClass]);
}

export function podCgroupName(cgroupRoot: string, qosClass: QosClass, podUid: string): CgroupName {
  return composed(qosClassCgroup(cgroupRoot, qosClass), `${podPrefix}${podUid}`);
}

/** The uid of the pod whose cgroup a path would be; null for other cgroups. The parents' names are not looked at, only how deep it lies. */
export function podUidOfCgroupPath(driver: CgroupDriver, cgroupRoot: string, path: string): string | null {
  const name = parseCgroupPath(driver, path);
  const depths = (Object.keys(classGroups) as QosClass[]).map((qosClass) => qosClassCgroup(cgroupRoot, qosClass).length + 1);
  if (!depths.includes(name.length)) return null;
  const [before, uid, ...more] = name[name.length - 1]!.split(podPrefix);
  return before === '' && uid !== undefined && more.length === 0 ? uid : null;
}

/** Our own components are sound, and the API server lets no other character into a uid; anything else is a programmer error. */
function composed(base: CgroupName, ...components: readonly string[]): CgroupName {
  const result = composeCgroupName(base, ...components);
  if (!result.ok) throw new Error(result.message);
  return result.name;
}
