// Cgroup names and values, and resolv.conf: properties, and traps that the golden vectors leave out.
import fc from 'fast-check';
import t from 'tap';
import { emptyCgroupConfig } from '../../src/domain/cgroups/cgroup-config.js';
import { cgroupFiles } from '../../src/domain/cgroups/cgroup-files.js';
import { cgroupPath, parseCgroupPath, systemdUnits } from '../../src/domain/cgroups/cgroup-name.js';
import { milliCpuToQuota, milliCpuToShares, podWeightToShares, sharesToContainerWeight, sharesToPodWeight } from '../../src/domain/cgroups/cpu-conversions.js';
import { podCgroupName, podUidOfCgroupPath } from '../../src/domain/cgroups/pod-cgroup-name.js';

const holds = (property: fc.IProperty<unknown>): void => fc.assert(property, { numRuns: 500 });
const component = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.', '0'), minLength: 1, maxLength: 8 });
const drivers = ['cgroupfs', 'systemd'] as const;

t.test('names', async (t) => {
  const roundTrip = (driver: (typeof drivers)[number]): fc.IProperty<unknown> =>
    fc.property(fc.array(component, { minLength: 1, maxLength: 5 }), (name) => JSON.stringify(parseCgroupPath(driver, cgroupPath(driver, name))) === JSON.stringify(name));
  for (const driver of drivers) t.doesNotThrow(() => holds(roundTrip(driver)), `a ${driver} path is read back`);
  for (const driver of drivers) {
    for (const qosClass of ['Guaranteed', 'Burstable', 'BestEffort'] as const) {
      const path = cgroupPath(driver, podCgroupName('/own-root', qosClass, 'a-b-c'));
      t.equal(podUidOfCgroupPath(driver, '/own-root', path), 'a-b-c', path);
    }
  }
  t.equal(systemdUnits([]), null, 'the root slice is nobody to start');
  t.throws(() => podCgroupName('/', 'Burstable', 'a/b'), /invalid character/, 'a uid with a slash never becomes a path');
});

t.test('values', async (t) => {
  const shares = fc.integer({ min: 0, max: 2 ** 40 }).map(milliCpuToShares);
  t.doesNotThrow(() => {
    holds(fc.property(shares, (value) => value >= 2 && value <= 262_144));
    holds(fc.property(shares, (value) => [sharesToPodWeight(value), sharesToContainerWeight(value)].every((weight) => weight >= 1 && weight <= 10_000)));
    holds(fc.property(fc.integer({ min: 1, max: 10_000 }), (weight) => Math.abs(sharesToPodWeight(podWeightToShares(weight)) - weight) <= 1));
    holds(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: 1000, max: 1_000_000 }), (milliCpu, period) => {
        const quota = milliCpuToQuota(milliCpu, period);
        return milliCpu === 0 ? quota === 0 : quota >= 1000;
      }),
    );
  }, 'stay in their bounds');
});

t.test('files', async (t) => {
  const text = (config: object, version: 1 | 2, sizes: readonly string[] = []): string =>
    cgroupFiles({ ...emptyCgroupConfig, ...config }, version, sizes)
      .map(({ name, text }) => `${name}=${text}`)
      .join(' ');
  const rows: readonly (readonly [sentence: string, config: object, version: 1 | 2, want: string])[] = [
    ['nothing set, nothing written', {}, 2, ''],
    ['a memory limit of 0 is never written', { memoryBytes: 0n }, 2, ''],
    ['no limit has a word of its own on v2', { memoryBytes: -1n, pidsLimit: -1, cpuQuotaMicros: -1 }, 2, 'pids.max=max memory.max=max cpu.max=max 100000'],
    ['and is -1 on v1', { memoryBytes: -1n, cpuQuotaMicros: -1 }, 1, 'memory.limit_in_bytes=-1 cpu.cfs_quota_us=-1'],
    ['no process at all is one process', { pidsLimit: 0 }, 2, 'pids.max=1'],
    ['unified files are for v2', { unified: { 'memory.min': '1' }, cpusetCpus: '0-1' }, 1, 'cpuset.cpus=0-1'],
    ['in order', { unified: { 'memory.min': '1' }, cpusetCpus: '0-1', cpuShares: 1024 }, 2, 'cpu.weight=39 cpuset.cpus=0-1 memory.min=1'],
  ];
  for (const [sentence, config, version, want] of rows) t.equal(text(config, version), want, sentence);
  const pages = { hugePageLimits: new Map([[2n ** 21n, 2n ** 22n]]) };
  t.equal(text(pages, 2, ['2MB', '1GB']), 'hugetlb.2MB.max=4194304 hugetlb.2MB.rsvd.max=4194304 hugetlb.1GB.max=0 hugetlb.1GB.rsvd.max=0', 'other sizes are set to 0');
});
