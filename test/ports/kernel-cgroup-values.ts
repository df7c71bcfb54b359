// What this host's kernel, or a simulated host, says that a cgroup is set to.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupFilesOf, CgroupLayout } from '../../src/adapters/linux/index.js';
import { cgroupFiles } from '../../src/domain/cgroups/cgroup-files.js';
import { podWeightToShares } from '../../src/domain/cgroups/cpu-conversions.js';
import type { CgroupValues } from '../../src/ports/model/cgroup-values.js';

/** As the daemon has them written. */
export const files: CgroupFilesOf = (values, version) => cgroupFiles(values, version, []);

export type CgroupValueName = 'shares' | 'memory' | 'quota';

export function simValue(values: CgroupValues | undefined, value: CgroupValueName): number | null {
  const field = { shares: values?.cpuShares, memory: values?.memoryBytes, quota: values?.cpuQuotaMicros }[value];
  return field === null || field === undefined ? null : Number(field);
}

/** Whether values can be kept at all. */
export function hasControllers({ version, hierarchies }: CgroupLayout): boolean {
  if (version === 1) return true;
  const controllers = readFileSync(join(hierarchies[0]?.mountPoint ?? '', 'cgroup.controllers'), 'utf8')
    .trim()
    .split(' ');
  return ['cpu', 'memory'].every((controller) => controllers.includes(controller));
}

/** What the kernel says that a cgroup is set to, as on v1. */
export function kernelValue({ version, hierarchies }: CgroupLayout, name: readonly string[], value: CgroupValueName): number | null {
  const read = (controller: string, file: string) => {
    const tree = hierarchies.find(({ controllers }) => version === 2 || controllers.includes(controller));
    return readFileSync(join(tree?.mountPoint ?? '', ...name, file), 'utf8').trim();
  };
  if (version === 1)
    return Number({ shares: () => read('cpu', 'cpu.shares'), memory: () => read('memory', 'memory.limit_in_bytes'), quota: () => read('cpu', 'cpu.cfs_quota_us') }[value]());
  if (value === 'shares') return Math.round(podWeightToShares(Number(read('cpu', 'cpu.weight'))));
  const text = value === 'memory' ? read('memory', 'memory.max') : (read('cpu', 'cpu.max').split(' ')[0] ?? '');
  return text === 'max' ? -1 : Number(text);
}
