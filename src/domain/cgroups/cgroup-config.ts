// The values of a cgroup that the kubelet manages, during their computation. See the port's `CgroupValues`.
import type { CgroupValues } from '../../ports/model/cgroup-values.js';

export type CgroupConfig = CgroupValues;

export const emptyCgroupConfig: CgroupConfig = {
  cpuShares: null,
  cpuQuotaMicros: null,
  cpuPeriodMicros: null,
  cpusetCpus: null,
  memoryBytes: null,
  pidsLimit: null,
  hugePageLimits: new Map(),
  unified: {},
};
