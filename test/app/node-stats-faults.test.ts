// The node's statistics under faults: a runtime that hangs, cgroups removed while they are read, malformed files, and many requests at once.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CgroupReader, cgroupLayout, ProcessReader } from '../../src/adapters/linux/index.js';
import { familyTexts, metricNumber, resourceFamilies } from '../../src/adapters/metrics/index.js';
import { openNativeLinux } from '../../src/adapters/native-linux/index.js';
import { cadvisorTexts } from '../../src/adapters/node-stats/cadvisor-answers.js';
import { NodeSampler } from '../../src/adapters/node-stats/node-sampler.js';
import { NodeStats } from '../../src/adapters/node-stats/node-stats.js';
import { PodDiskUsage } from '../../src/adapters/node-stats/pod-disk-usage.js';
import { nodeStatsReading, resourcesOf, summaryOf } from '../../src/adapters/node-stats/summary-answers.js';
import { summaryRules } from '../../src/domain/stats/summary-rules.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { MissingPart } from '../../src/ports/model/node-measurements.js';
import { metricFindings } from '../adapters/metric-lint.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
const mountinfo = ['cpu', 'cpuacct', 'memory'].map((name, i) => `${30 + i} 23 0:${26 + i} / /sys/fs/cgroup/${name} rw - cgroup cgroup rw,${name}\n`).join('');
const files: readonly (readonly [controller: string, file: string, text: string])[] = [
  ['cpu', 'cgroup.procs', ''],
  ['cpuacct', 'cpuacct.usage', '123456789\n'],
  ['memory', 'memory.usage_in_bytes', '50000000\n'],
  ['memory', 'memory.stat', 'total_rss 4096\ntotal_inactive_file 1000\n'],
];
const usage = { type: 0n, capacityBytes: 10n, freeBytes: 5n, availableBytes: 4n, inodes: 9n, inodesFree: 3n, mountOptions: null };

interface NodeOptions {
  readonly pods: number;
  readonly containersOfEach?: number;
  readonly hangs?: boolean;
  readonly hasRootCgroup?: boolean;
  /** null: unknown. */
  readonly imageFilesystems?: 'first' | 'none' | 'undated';
  readonly filesystem?: typeof usage | null;
  readonly processes?: number | null;
  readonly podName?: (i: number) => string;
  /** More containers of each pod, in the runtime's words; none of them has a cgroup. */
  readonly alsoContainers?: (i: number) => readonly { readonly id: string; readonly name: string; readonly state: 'created' | 'running' | 'exited'; readonly createdAt: number }[];
}

/** A container whose CPU and memory the runtime reports. */
const measured = (containerId: string) => ({
  ...unmeasured(containerId),
  cpu: { time: instantOf(Date.now() * 1_000), timeNanos: BigInt(Date.now()) * 1_000_000n, usageCoreNanoSeconds: 5 },
  memory: { time: instantOf(Date.now() * 1_000), workingSetBytes: 7 },
});
/** A container without statistics from the runtime. */
const unmeasured = (containerId: string) => ({ containerId, cpu: null, memory: null, swap: null, writableLayer: null });

function containerIds(i: number, { containersOfEach = 1 }: NodeOptions): string[] {
  return Array.from({ length: containersOfEach }, (_, n) => `container${i}-${n}`);
}

function listingOf(options: NodeOptions) {
  const { pods, podName = (i) => `p${i}`, alsoContainers = () => [] } = options;
  return {
    ...{ observedAt: 0, foreign: 0, foreignImages: [] },
    pods: Array.from({ length: pods }, (_, i) => ({
      ...{ uid: `uid${i}`, name: podName(i), namespace: 'default' },
      sandboxes: [{ id: `sandbox${i}`, state: 'ready' as const, attempt: 0, createdAt: instantOf(1) }],
      containers: [
        ...containerIds(i, options).map((id, n) => ({ id, name: `c${n}`, state: 'running' as const, sandboxId: `sandbox${i}`, attempt: 0, createdAt: instantOf(1) })),
        ...alsoContainers(i).map(({ createdAt, ...more }) => ({ sandboxId: `sandbox${i}`, attempt: 0, ...more, createdAt: instantOf(createdAt) })),
      ],
    })),
  };
}

/** The runtime's own numbers. */
function criStatsOf(options: NodeOptions) {
  const { pods, hangs = false, imageFilesystems = 'first', alsoContainers = () => [] } = options;
  const ids = Array.from({ length: pods }, (_, i) => [...containerIds(i, options), ...alsoContainers(i).map(({ id }) => id)]).flat();
  const readings = ids.map((id) => (id === 'unmeasured' || id.startsWith('container') ? unmeasured(id) : measured(id)));
  const time = instantOf(imageFilesystems === 'undated' ? 0 : Date.now() * 1_000);
  const filesystems = imageFilesystems === 'none' ? [] : [{ time, mountpoint: '/', usedBytes: 1, inodesUsed: 1 }];
  return {
    containers: () => (hangs ? never : Promise.resolve(readings)),
    imageFilesystems: () => (hangs ? never : Promise.resolve(filesystems)),
  };
}

const never = new Promise<never>(() => {});

const cadvisorHost = {
  nowMillis: () => 1,
  machine: () => Promise.reject(new Error('none')),
  memoryBytes: 1e10,
  images: () => new Map<string, string>(),
  sandboxImage: () => 'image',
  rootFilesystems: async () => [],
  deviceName: () => '',
};

function node(t: Test, options: NodeOptions) {
  const { pods: podCount, hangs = false, hasRootCgroup = true, filesystem = usage, processes: processCount = 1 } = options;
  const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const cgroup = (path: string): void => {
    for (const [controller, file, text] of files) {
      const directory = join(root, 'sys/fs/cgroup', controller, path);
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, file), text);
    }
  };
  const numbers = Array.from({ length: podCount }, (_, i) => i);
  if (hasRootCgroup) cgroup('/');
  for (const i of numbers) for (const below of ['', `/sandbox${i}`, ...containerIds(i, options).map((id) => `/${id}`)]) cgroup(`/kubepods/poduid${i}${below}`);
  let now = Date.now() * 1_000;
  let looks = 0;
  const listing = listingOf(options);
  const reader = new CgroupReader({ native, layout: cgroupLayout(mountinfo), nowMillis: () => Math.floor(now / 1_000), now: () => now, hostRoot: root });
  const processes = new ProcessReader({ native, hostRoot: root });
  for (const opened of [reader, processes]) t.teardown(() => opened.close());
  const pause = async (millis: number) => {
    now += millis * 1_000;
  };
  const sampler = new NodeSampler({ reader, processes, trees: ['/kubepods'], single: [], now: () => now, pause });
  t.teardown(() => sampler.close());
  const stats = new NodeStats({
    sampler,
    runtime: {
      listPods: async () => {
        looks++;
        return hangs ? never : listing;
      },
    },
    criStats: criStatsOf(options),
    diskUsage: new PodDiskUsage({
      walks: { files: async () => null, tree: async () => null, volume: async () => null, quota: async () => null, filesystem: async () => null, driver: async () => null },
      volumes: () => [],
      ...{ rootDirectory: '/none', podLogsDirectory: '/none', volumePeriod: 0, now: () => now, wall: () => instantOf(now), random: () => 0 },
    }),
    filesystemUsage: { usage: async () => filesystem ?? Promise.reject(new Error('none')) },
    lookMicros: hangs ? 50_000 : 30_000_000,
    ...{ rootDirectory: '/', pods: () => [], now: () => now, wall: () => instantOf(now) },
  });
  const missing: string[] = [];
  const processCounts = async () => (processCount === null ? null : { maxPid: 1, processes: processCount });
  const node = { name: 'n', bootedAt: instantOf(0), systemCgroups: [], machine: { memoryBytes: 1e10, swapBytes: 0 } };
  const summary = { stats, node, rules: summaryRules, processCounts, onMissing: ({ part }: MissingPart) => missing.push(part) };
  return {
    root,
    missing,
    reading: () => nodeStatsReading(summary, '/'),
    looks: () => looks,
    later: () => {
      now += 15_000_000;
    },
    summary: () => summaryOf(summary, false),
    resource: async () => [...familyTexts(resourceFamilies(await resourcesOf(summary)))].join(''),
    cadvisor: async () => [...(await cadvisorTexts({ stats, ...cadvisorHost }))].join(''),
  };
}

t.test('a runtime that hangs', async (t) => {
  const { resource, cadvisor, summary, looks } = node(t, { pods: 2, hangs: true });
  const text = await resource();
  t.match(text, /\nresource_scrape_error 1\n/);
  t.match(text, /\nnode_memory_working_set_bytes \d/, 'the node has numbers still');
  t.match(await cadvisor(), /\ncontainer_scrape_error 1\n/);
  t.strictSame(await summary(), { ok: false, error: 'failed to list pod stats: context deadline exceeded' });
  t.ok(looks() >= 1, 'and it is asked again by who comes later');
});

t.test('fifty who ask at once are told of one look', async (t) => {
  const { resource, cadvisor, summary, looks } = node(t, { pods: 3 });
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 3 === 0 ? resource() : i % 3 === 1 ? cadvisor() : summary())));
  t.ok(looks() <= 2, `${looks()} looks: one, and one with all detail`);
  t.ok(answers.every((answer) => (typeof answer === 'string' ? answer.includes('p2') : answer.ok)));
});

t.test('cgroups that go while they are read', async (t) => {
  const { root, resource, cadvisor, summary, later } = node(t, { pods: 40 });
  await resource();
  for (let round = 0; round < 10; round++) {
    later();
    const asked = Promise.all([resource(), cadvisor(), summary()]);
    for (const controller of ['cpu', 'cpuacct', 'memory']) rmSync(join(root, 'sys/fs/cgroup', controller, `kubepods/poduid${round}`), { recursive: true });
    const [numbers, detail, whole] = await asked;
    t.strictSame([...metricFindings(numbers), ...metricFindings(detail)], []);
    t.match(numbers, /\nresource_scrape_error 0\n/);
    t.ok(whole.ok, 'the summary is there');
  }
  later();
  t.notOk((await cadvisor()).includes('poduid0'), 'what is gone has no series');
});

t.test('files with nonsense in them', async (t) => {
  const { root, resource, cadvisor, summary } = node(t, { pods: 2 });
  const of = (controller: string, file: string) => join(root, 'sys/fs/cgroup', controller, 'kubepods/poduid0/container0-0', file);
  writeFileSync(of('cpuacct', 'cpuacct.usage'), 'what is this');
  writeFileSync(of('memory', 'memory.usage_in_bytes'), '');
  writeFileSync(of('memory', 'memory.stat'), Buffer.from([0xff, 0xfe, 0, 10]));
  writeFileSync(of('cpu', 'cgroup.procs'), 'x\n-1\n99999999999999999999\n');
  const [numbers, detail, whole] = [await resource(), await cadvisor(), await summary()];
  t.strictSame([...metricFindings(numbers), ...metricFindings(detail)], []);
  t.match(numbers, /container_memory_working_set_bytes\{container="c0",namespace="default",pod="p1"\} 4\.9999e\+07/, 'others have theirs');
  t.ok(whole.ok && JSON.stringify(whole.value).includes('"p0"'));
  t.notMatch(numbers + detail, /NaN|undefined/);
});

t.test('odd names, and five hundred containers', async (t) => {
  const odd = 'a"b\\c\nd';
  const { resource, cadvisor, summary } = node(t, { pods: 100, containersOfEach: 5, podName: (i) => (i === 0 ? odd : `p${i}`) });
  const [numbers, detail, whole] = [await resource(), await cadvisor(), await summary()];
  t.strictSame([...metricFindings(numbers), ...metricFindings(detail)], []);
  t.match(numbers, /pod="a\\"b\\\\c\\nd"/);
  t.equal(numbers.split('\n').filter((line) => line.startsWith('container_memory_working_set_bytes{')).length, 500);
  t.equal(whole.ok ? whole.value.pods?.length : 0, 100);
});

t.test('KB051 containers that are being created, were restarted, or have an odd clock', async (t) => {
  const future = (Date.now() + 3_600_000) * 1_000;
  const alsoContainers = () => [
    { id: 'making', name: 'making', state: 'created' as const, createdAt: 0 },
    { id: 'unset', name: 'unset', state: 'running' as const, createdAt: 0 },
    { id: 'future', name: 'future', state: 'running' as const, createdAt: future },
    { id: 'old-1', name: 'again', state: 'exited' as const, createdAt: 1_600_000_000_000_000 },
    { id: 'now', name: 'again', state: 'running' as const, createdAt: 1_600_000_200_000_000 },
    { id: 'old-2', name: 'again', state: 'exited' as const, createdAt: 1_600_000_100_000_000 },
  ];
  const { resource } = node(t, { pods: 1, alsoContainers });
  const text = await resource();
  t.strictSame(metricFindings(text), [], 'one series for each set of labels');
  const samples = text.split('\n').filter((line) => /container="(making|unset|future|again)"/.test(line));
  const starts = samples.filter((line) => line.startsWith('container_start_time_seconds{'));
  t.strictSame(
    starts.map((line) => /container="(\w+)".*\} (\S+)$/.exec(line)?.slice(1)).sort(),
    [
      ['again', metricNumber(1_600_000_200)],
      ['future', metricNumber(future / 1e6)],
    ],
    'no start before there is one, of those that were restarted the one that runs, and without a time stamp',
  );
  t.notOk(
    samples.some((line) => /container="making"/.test(line)),
    'what is not running has no numbers',
  );
  const stamps = samples.filter((line) => !starts.includes(line)).map((line) => Number(/ (\d+)$/.exec(line)?.[1]));
  t.ok(stamps.length > 0 && stamps.every((stamp) => Math.abs(stamp - Date.now()) < 600_000), 'times are those of the reading, never of the start');
});

t.test('each part of the summary stands for itself, whichever of them can not be read', async (t) => {
  const parts = ['root cgroup', 'rootFs', 'imageFs', 'rlimit'] as const;
  for (let set = 0; set < 2 ** parts.length; set++) {
    const lacks = (part: (typeof parts)[number]): boolean => (set & (1 << parts.indexOf(part))) !== 0;
    const wanted = parts.filter(lacks);
    const { summary, reading, missing } = node(t, {
      pods: 2,
      hasRootCgroup: !lacks('root cgroup'),
      filesystem: lacks('rootFs') ? null : usage,
      imageFilesystems: lacks('imageFs') ? 'none' : 'first',
      processes: lacks('rlimit') ? null : 1,
    });
    const answer = await summary();
    const name = wanted.length === 0 ? 'nothing' : wanted.join(', ');
    if (!answer.ok) {
      t.fail(`${name}: ${answer.error}`);
      continue;
    }
    const found = answer.value.node;
    t.strictSame(missing, wanted, `${name}: what is missing is told`);
    const shows = { 'root cgroup': found.memory !== undefined, rootFs: found.fs !== undefined, imageFs: found.runtime !== undefined, rlimit: found.rlimit !== undefined };
    for (const part of parts) t.equal(shows[part], !lacks(part), `${name}: ${part}`);
    t.equal(answer.value.pods?.length, 2, `${name}: the pods are there`);
    t.equal(answer.value.pods?.[0]?.memory?.workingSetBytes, 49_999_000, `${name}: with their numbers`);
    missing.length = 0;
    const own = (await reading()).summary;
    t.strictSame(missing, wanted, `${name}: the agent is told, too`);
    t.strictSame(Object.keys(own.node).sort(), Object.keys(found).sort(), `${name}: and decides by the same parts`);
    t.equal(own.pods?.length, 2);
  }
});

t.test('what was not measured is absent, and no time is 1970', async (t) => {
  const extra = () => [{ id: 'unmeasured', name: 'unmeasured', state: 'running' as const, createdAt: 0 }];
  const { summary, resource, root } = node(t, { pods: 1, alsoContainers: extra, imageFilesystems: 'undated', filesystem: { ...usage, inodes: 0n, inodesFree: 0n } });
  writeFileSync(join(root, 'sys/fs/cgroup/memory/kubepods/poduid0/container0-0/memory.usage_in_bytes'), 'what is this');
  const answer = await summary();
  if (!answer.ok) throw new Error(answer.error);
  const text = JSON.stringify(answer.value);
  t.notMatch(text, /1970/, text);
  t.strictSame(
    answer.value.pods?.[0]?.containers?.find(({ name }) => name === 'unmeasured'),
    { name: 'unmeasured', rootfs: { time: null } },
  );
  const { memory, swap, cpu } = answer.value.pods?.[0]?.containers?.find(({ name }) => name === 'c0') ?? {};
  t.strictSame([memory, swap, cpu], [undefined, undefined, undefined], 'a cgroup that was half read, of a container that the runtime says nothing of');
  t.notMatch(text, /"psi"/, 'no pressure where the kernel tells none');
  t.notMatch(JSON.stringify(answer.value.node.fs), /inodes/, 'no inodes where the file system does not count them');
  t.strictSame(answer.value.node.runtime?.imageFs, { availableBytes: 4, capacityBytes: 10, usedBytes: 1, inodesUsed: 1 });
  t.equal(answer.value.node.startTime, undefined);
  const numbers = await resource();
  t.notMatch(numbers, /container="unmeasured"/, 'metrics have no series of it');
});
