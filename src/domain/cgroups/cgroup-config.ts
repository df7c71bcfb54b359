// What a cgroup of the kubelet's own is set to, while it is put together. See the port's `CgroupValues`.
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
