// The values of a pod's cgroup, from the pod, the node's facts and its exclusive resources.
// Invariant: every huge page size of the host is limited, to zero if the pod requests none.
import type { CgroupValues } from '../../../ports/model/cgroup-values.js';
import type { Pod } from '../../../ports/model/pod.js';
import { podCgroupConfig, podCgroupOptions } from '../../cgroups/pod-cgroup-config.js';
import { hasExclusiveCpus } from '../../cpu-manager/cpu-manager.js';
import type { AgentView } from '../agent-view.js';
import { uidOf } from '../pod-manager/pod-index.js';

/** The values of a pod's cgroup at its creation. */
export function podCgroupValues({ settings, nodeFacts, alignment }: AgentView, pod: Pod): CgroupValues {
  // A quota would throttle a pod on CPUs that are its own.
  const ownCpus = settings.alignment?.liftsQuota === true && alignment !== null && hasExclusiveCpus(alignment.cpu, uidOf(pod));
  const config = podCgroupConfig(pod, podCgroupOptions(nodeFacts, ownCpus));
  const { hugePageBytes } = settings.nodeCgroups;
  if (hugePageBytes.length === 0) return config;
  return { ...config, hugePageLimits: new Map([...hugePageBytes.map((pageBytes) => [pageBytes, 0n] as const), ...config.hugePageLimits]) };
}
