// The place of a pod's cgroup in the node's tree: root, `kubepods`, the QoS class's group (none for Guaranteed), `pod<uid>`.
// Invariant: the class determines the parent, so a pod's name changes with its class; therefore its status keeps the class.
import type { QosClass } from '../qos/qos-class.js';
import { type CgroupDriver, type CgroupName, composeCgroupName, parseCgroupPath } from './cgroup-name.js';

const podsGroup = 'kubepods';
const podPrefix = 'pod';
const classGroups: Readonly<Record<QosClass, readonly string[]>> = { Guaranteed: [], Burstable: ['burstable'], BestEffort: ['besteffort'] };

/** The cgroup that holds all pods; without a cgroup per QoS class the configured root itself. @param cgroupRoot in cgroupfs form for both drivers */
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

/** The uid of the pod that a cgroup path belongs to; null for other cgroups. Checks only the depth, not the parents' names. */
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
