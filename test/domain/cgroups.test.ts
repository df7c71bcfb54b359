// Cgroup names and values, and resolv.conf: properties, and traps that the golden vectors leave out.
import fc from 'fast-check';
import t from 'tap';
import { emptyCgroupConfig } from '../../src/domain/cgroups/cgroup-config.js';
import { cgroupFiles } from '../../src/domain/cgroups/cgroup-files.js';
import { cgroupPath, parseCgroupPath, systemdUnits } from '../../src/domain/cgroups/cgroup-name.js';
import { milliCpuToQuota, milliCpuToShares, podWeightToShares, quotaToMilliCpu, sharesToContainerWeight, sharesToPodWeight } from '../../src/domain/cgroups/cpu-conversions.js';
import { podCgroupConfig, podCgroupOptions } from '../../src/domain/cgroups/pod-cgroup-config.js';
import { podCgroupName, podUidOfCgroupPath } from '../../src/domain/cgroups/pod-cgroup-name.js';
import { sliceSettings } from '../../src/domain/cgroups/systemd-properties.js';
import { nodeFacts } from '../../src/domain/containers/default-node-facts.js';

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
  t.strictSame([0, 2, 3, 1024, 262_144, 300_000].map(sharesToContainerWeight), [0, 1, 2, 100, 10_000, 10_000], 'weights of containers, also outside of what shares can be');
  t.strictSame([0, 2, 262_144, 300_000].map(sharesToPodWeight), [1, 1, 10_000, 10_000], 'weights of pods');
  t.strictSame([quotaToMilliCpu(-1, 100_000), quotaToMilliCpu(50_000, 0), quotaToMilliCpu(50_000, 100_000)], [0, 0, 500], 'no quota is no limit');
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

t.test('pods', async (t) => {
  const limits = { cpu: '1', memory: '1Gi' };
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', resources: { limits, requests: limits } }] } };
  const options = podCgroupOptions(nodeFacts({ podPidsLimit: 100 }), true);
  t.match(podCgroupConfig(pod, options), { cpuQuotaMicros: -1, cpuPeriodMicros: 100_000, pidsLimit: 100 }, 'exclusive CPUs are never throttled');
  const memoryQos = { reservationPolicy: 'TieredReservation', throttlingFactor: 0.9, allocatableMemoryBytes: null, memoryPageBytes: 4096 };
  t.strictSame(podCgroupConfig(pod, podCgroupOptions(nodeFacts({ memoryQos }), false)).unified, { 'memory.min': '1073741824' }, 'memory is reserved on v2');
  t.strictSame(podCgroupConfig(pod, podCgroupOptions(nodeFacts({ memoryQos, cgroupVersion: 1 }), false)).unified, {}, 'and not on v1');
});

t.test('systemd properties', async (t) => {
  const infinity = 2n ** 64n - 1n;
  const properties = (config: object, version: 1 | 2 = 2, systemd = 252): Record<string, unknown> =>
    Object.fromEntries(sliceSettings({ ...emptyCgroupConfig, ...config }, version, systemd).properties.map(({ name, value }) => [name, value]));
  const rows: readonly (readonly [sentence: string, got: unknown, want: object])[] = [
    ['nothing set, nothing told', properties({}), {}],
    ['memory, on v2', properties({ memoryBytes: 1024n }), { MemoryMax: 1024n }],
    ['memory, on v1', properties({ memoryBytes: 1024n }, 1), { MemoryLimit: 1024n }],
    ['0 is not set, -1 is infinity', properties({ memoryBytes: 0n, pidsLimit: -1 }), { TasksMax: infinity }],
    ['one process at least', properties({ pidsLimit: 0 }), { TasksMax: 1n }],
    ['the straight line of weights', properties({ cpuShares: 1024 }), { CPUWeight: 39n }],
    ['shares on v1', properties({ cpuShares: 1024 }, 1), { CPUShares: 1024n }],
    ['a quota', properties({ cpuQuotaMicros: 50_000, cpuPeriodMicros: 100_000 }), { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 500_000n }],
    ['a period alone lifts the quota', properties({ cpuQuotaMicros: 0, cpuPeriodMicros: 100_000 }), { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: infinity }],
    ['old systemd knows no period', properties({ cpuQuotaMicros: -1, cpuPeriodMicros: 100_000 }, 2, 241), { CPUQuotaPerSecUSec: infinity }],
    ['a bit for each CPU', properties({ cpusetCpus: '0-2,9' }), { AllowedCPUs: Uint8Array.of(0b111, 0b10) }],
    ['old systemd knows no CPUs', properties({ cpusetCpus: '0' }, 2, 243), {}],
    ['what is reserved', properties({ unified: { 'memory.min': '5', 'memory.high': 'max', 'memory.oom.group': '1' } }), { MemoryMin: 5n, MemoryHigh: infinity }],
  ];
  for (const [sentence, got, want] of rows) t.strictSame(got, want, sentence);
  const odd = sliceSettings({ ...emptyCgroupConfig, cpuQuotaMicros: 33_300, cpuPeriodMicros: 100_000 }, 2, 252);
  t.match(odd.properties, [{}, { name: 'CPUQuotaPerSecUSec', value: 340_000n }], 'rounded up to a whole percent');
  t.equal(odd.config.cpuQuotaMicros, 34_000, 'and the file says the same, so that a reload changes nothing');
});
