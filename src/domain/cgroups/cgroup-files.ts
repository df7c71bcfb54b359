// A cgroup's configuration as a list of files and contents, in write order.
// Invariant: a huge page size of the host that the configuration doesn't name is set to 0, so that no pod uses pages that it didn't request.
import type { CgroupConfig } from './cgroup-config.js';
import { defaultCpuPeriodMicros, sharesToPodWeight } from './cpu-conversions.js';
import { hugePageUnit } from './huge-page-sizes.js';
import type { CgroupVersion } from './resource-facts.js';

export interface CgroupFile {
  /** Name in the cgroup's directory; on v1 its first part is the controller, and so the hierarchy. */
  readonly name: string;
  readonly text: string;
}

/** @param hostHugePageSizes as in file names (`2MB`); empty when the hugetlb controller isn't there */
export function cgroupFiles(config: CgroupConfig, version: CgroupVersion, hostHugePageSizes: readonly string[]): readonly CgroupFile[] {
  const pids = config.pidsLimit === null ? [] : [file('pids.max', pidsText(config.pidsLimit))];
  const cpuset = config.cpusetCpus === null || config.cpusetCpus === '' ? [] : [file('cpuset.cpus', config.cpusetCpus)];
  const hugePages = hugePageFiles(config, version, hostHugePageSizes);
  if (version === 1) return [...memoryFiles(config, 'memory.limit_in_bytes', '-1'), ...cpuset, ...cpuFilesV1(config), ...pids, ...hugePages];
  const unified = Object.entries(config.unified).map(([name, text]) => file(name, text));
  return [...pids, ...memoryFiles(config, 'memory.max', 'max'), ...cpuFilesV2(config), ...cpuset, ...hugePages, ...unified];
}

function file(name: string, text: string | number | bigint): CgroupFile {
  return { name, text: String(text) };
}

/** The kernel takes 0 as "no process at all, not even the first"; 1 is the closest that makes sense. */
function pidsText(limit: number): string {
  return limit < 0 ? 'max' : String(Math.max(limit, 1));
}

function memoryFiles({ memoryBytes }: CgroupConfig, name: string, unlimited: string): readonly CgroupFile[] {
  if (memoryBytes === null || memoryBytes === 0n) return [];
  return [file(name, memoryBytes < 0n ? unlimited : memoryBytes)];
}

function cpuFilesV2({ cpuShares, cpuQuotaMicros, cpuPeriodMicros }: CgroupConfig): readonly CgroupFile[] {
  const quota = cpuQuotaMicros ?? 0;
  const period = cpuPeriodMicros ?? 0;
  const weight = cpuShares === null || cpuShares === 0 ? [] : [file('cpu.weight', sharesToPodWeight(cpuShares))];
  if (quota === 0 && period === 0) return weight;
  return [...weight, file('cpu.max', `${quota > 0 ? quota : 'max'} ${period === 0 ? defaultCpuPeriodMicros : period}`)];
}

function cpuFilesV1({ cpuShares, cpuQuotaMicros, cpuPeriodMicros }: CgroupConfig): readonly CgroupFile[] {
  return [
    ...(cpuShares === null || cpuShares === 0 ? [] : [file('cpu.shares', cpuShares)]),
    ...(cpuPeriodMicros === null || cpuPeriodMicros === 0 ? [] : [file('cpu.cfs_period_us', cpuPeriodMicros)]),
    ...(cpuQuotaMicros === null || cpuQuotaMicros === 0 ? [] : [file('cpu.cfs_quota_us', cpuQuotaMicros)]),
  ];
}

function hugePageFiles(config: CgroupConfig, version: CgroupVersion, hostSizes: readonly string[]): readonly CgroupFile[] {
  const limits = new Map<string, bigint>(hostSizes.map((size) => [size, 0n]));
  for (const [pageBytes, limit] of config.hugePageLimits) {
    const unit = hugePageUnit(pageBytes);
    if (unit.ok) limits.set(unit.unit, limit);
  }
  const suffix = version === 1 ? 'limit_in_bytes' : 'max';
  // The second file limits reservations.
  return [...limits].flatMap(([size, limit]) => [file(`hugetlb.${size}.${suffix}`, limit), file(`hugetlb.${size}.rsvd.${suffix}`, limit)]);
}
