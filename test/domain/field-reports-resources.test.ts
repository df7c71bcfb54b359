// Field reports about the kernel's units: shares beyond its bounds, and huge pages by an unknown name.
import t from 'tap';
import { milliCpuToQuota, milliCpuToShares, podWeightToShares, sharesToMilliCpu, sharesToPodWeight } from '../../src/domain/cgroups/cpu-conversions.js';
import { machineCapacity } from '../../src/domain/cgroups/node-allocatable.js';
import { quantityText } from '../../src/domain/values/quantity.js';
import { emptyDirSetUp } from '../../src/domain/volumes/node-volumes.js';
import type { Pod } from '../../src/ports/model/pod.js';

t.test('KB056: requests on very large machines stay within what the kernel takes', async (t) => {
  const cores = 1_000;
  const rows: readonly (readonly [sentence: string, milliCpu: number, shares: number, weight: number])[] = [
    ['one thousandth of a core', 1, 2, 1],
    ['two', 2, 2, 1],
    ['ten', 10, 10, 1],
    ['256 cores, the most that shares can say', 256 * cores, 262_144, 10_000],
    ['257 cores', 257 * cores, 262_144, 10_000],
    ['1000 cores', 1_000 * cores, 262_144, 10_000],
  ];
  for (const [sentence, milliCpu, shares, weight] of rows) {
    t.equal(milliCpuToShares(milliCpu), shares, sentence);
    t.equal(sharesToPodWeight(shares), weight, `${sentence}, as a weight`);
  }
  t.strictSame(
    [1, 5, 10, 417].map((limit) => milliCpuToQuota(limit, 100_000)),
    [1_000, 1_000, 1_000, 41_700],
    'a quota is never below a millisecond',
  );
  // A runtime with another formula writes another weight: this agent's nearest one represents no less than the request.
  for (const milliCpu of [100, 250, 1_000, 4_000, 64_000]) {
    const weight = sharesToPodWeight(milliCpuToShares(milliCpu));
    t.ok(sharesToMilliCpu(podWeightToShares(weight + 1)) >= milliCpu, `${milliCpu} of a weight above`);
  }
});

const requests = (...sizes: readonly string[]) => Object.fromEntries(sizes.map((size) => [`hugepages-${size}`, size]));

function podWithHugePages(...containers: readonly (readonly string[])[]): Pod {
  const spec = { containers: containers.map((sizes, i) => ({ name: `c${i}`, image: 'a', resources: { requests: requests(...sizes), limits: requests(...sizes) } })) };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec } as Pod;
}

t.test('KB059: huge pages by the sizes that the kernel knows', async (t) => {
  const rows: readonly (readonly [sentence: string, pod: Pod, medium: string, expected: string | RegExp])[] = [
    ['the only size that is asked for', podWithHugePages(['2Mi']), 'HugePages', '2Mi'],
    ['of two, the one that is named', podWithHugePages(['2Mi'], ['1Gi']), 'HugePages-2Mi', '2Mi'],
    ['the other', podWithHugePages(['2Mi'], ['1Gi']), 'HugePages-1Gi', '1Gi'],
    ['the same size in other words', podWithHugePages(['1Gi']), 'HugePages-1024Mi', '1Gi'],
    ['two sizes and none named', podWithHugePages(['2Mi'], ['1Gi']), 'HugePages', /can't be used if container requests multiple huge page sizes/],
    ['one that nobody asks for', podWithHugePages(['2Mi']), 'HugePages-1Gi', /there is no resource request for huge pages/],
    ['no size', podWithHugePages(['2Mi']), 'HugePages-big', /unknown storage medium "HugePages-big"/],
  ];
  for (const [sentence, of, medium, expected] of rows) {
    const made = emptyDirSetUp(of, { name: 'v', emptyDir: { medium } }, {});
    if (typeof expected === 'string') t.match(made, { ok: true, setUp: { tmpfs: null, hugePages: { pageSize: expected } } }, sentence);
    else t.match(made, { ok: false, message: expected }, sentence);
    // The form that the kernel's memparse() reads: digits and one of its letters.
    if (typeof expected === 'string') t.match(expected, /^\d+[KMG]i$/, `${sentence}: in a form that the kernel reads`);
  }
  const machine = { cpus: 1, memoryBytes: 2n ** 34n, ephemeralStorageBytes: null, maxPids: 1 };
  const capacity = (count: number) => {
    const sizes = [2_048, 1_048_576, 64].map((pageSizeKiB) => ({ pageSizeKiB, count }));
    return Object.fromEntries(
      [...machineCapacity({ ...machine, hugePages: sizes })].filter(([name]) => name.startsWith('hugepages-')).map(([name, amount]) => [name, quantityText(amount)]),
    );
  };
  t.strictSame(capacity(3), { 'hugepages-2Mi': '6Mi', 'hugepages-1Gi': '3Gi', 'hugepages-64Ki': '192Ki' }, 'every size is capacity');
  t.strictSame(capacity(4), { 'hugepages-2Mi': '8Mi', 'hugepages-1Gi': '4Gi', 'hugepages-64Ki': '256Ki' }, 'and the new count after a restart');
});
