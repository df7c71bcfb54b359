// Counters of cgroups on recorded trees of v1 and v2 and on this host, what files take on disk, and the metrics text made of it.
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { sandboxImageOf } from '../../src/adapters/cri/index.js';
import { metricsRoute } from '../../src/adapters/http-server/index.js';
import {
  CgroupReader,
  cgroupLayout,
  directFilesUsage,
  ProcessReader,
  parseBootTime,
  parseDiskstats,
  parseNetDev,
  parseTaskCount,
  readCgroupLayout,
  treeUsage,
} from '../../src/adapters/linux/index.js';
import { CadvisorFamilies, familyTexts, metricNumber, resourceFamilies } from '../../src/adapters/metrics/index.js';
import { openNativeLinux } from '../../src/adapters/native-linux/index.js';
import { metricFindings } from './metric-lint.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
const nowMillis = () => 1_700_000_000_000;

function tree(t: { teardown(what: () => unknown): unknown }, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const v2Mount = '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n';
const pod2 = '/sys/fs/cgroup/kubepods/poda';
const stat2 = 'anon 3000\nfile 5000\nkernel 700\nfile_mapped 11\ninactive_file 1000\nactive_file 4000\npgfault 21\npgmajfault 2\n';

t.test('cgroup v2', async (t) => {
  const root = tree(t, {
    '/sys/fs/cgroup/cpu.stat': 'usage_usec 9000000\nuser_usec 5\nsystem_usec 6\n',
    '/sys/fs/cgroup/memory.stat': stat2,
    '/sys/fs/cgroup/cgroup.procs': '1\n',
    [`${pod2}/cpu.stat`]: 'usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 7\nnr_throttled 3\nthrottled_usec 9\nnr_bursts 1\nburst_usec 2\n',
    [`${pod2}/memory.current`]: '9000\n',
    [`${pod2}/memory.stat`]: stat2,
    [`${pod2}/memory.max`]: 'max\n',
    [`${pod2}/memory.peak`]: '9999\n',
    [`${pod2}/memory.swap.current`]: '5\n',
    [`${pod2}/memory.swap.max`]: '4096\n',
    [`${pod2}/memory.events`]: 'low 0\nhigh 0\nmax 4\noom 1\noom_kill 2\n',
    [`${pod2}/cgroup.procs`]: '12\n13\n',
    [`${pod2}/cpu.weight`]: '100\n',
    [`${pod2}/cpu.max`]: '20000 100000\n',
    [`${pod2}/pids.current`]: '5\n',
    [`${pod2}/pids.max`]: 'max\n',
    [`${pod2}/io.stat`]: '8:0 rbytes=1024 wbytes=2048 rios=3 wios=4 dbytes=0 dios=0\n7:0 \n',
    [`${pod2}/cpu.pressure`]: 'some avg10=1.50 avg60=0.00 avg300=0.25 total=77\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n',
    [`${pod2}/memory.pressure`]: 'some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2\n',
    [`${pod2}/io.pressure`]: 'some avg10=0.00 avg60=0.00 avg300=0.00 total=3\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4\n',
    '/sys/fs/cgroup/kubepods/broken/cpu.stat': 'what is this',
    '/sys/fs/cgroup/kubepods/empty/notes': '',
  });
  const reader = new CgroupReader({ native, layout: cgroupLayout(v2Mount), nowMillis, now: () => nowMillis() * 1_000, hostRoot: root });
  t.teardown(() => reader.close());
  t.strictSame((await reader.walk('/kubepods')).sort(), ['/kubepods', '/kubepods/broken', '/kubepods/empty', '/kubepods/poda']);
  t.strictSame(await reader.walk('/none'), []);
  const read = await reader.read(['/', '/kubepods/poda', '/kubepods/broken', '/kubepods/empty', '/kubepods/gone'], () => 'all');
  t.strictSame(
    read.map(({ path }) => path),
    ['/', '/kubepods/poda', '/kubepods/broken'],
    'what is no cgroup, or gone, is left out',
  );
  const [top, pod, broken] = read.map(({ counters }) => counters);
  t.equal(top?.memory?.usageBytes, 8000, 'the root has no memory.current');
  t.match(pod, {
    cpu: { usageNanos: 1_500_000, userNanos: 1_000_000, systemNanos: 500_000, periods: 7, throttledPeriods: 3, throttledNanos: 9000, burstPeriods: 1, burstNanos: 2000 },
    memory: { usageBytes: 9000, maxUsageBytes: 9999, workingSetBytes: 8000, rssBytes: 3000, cacheBytes: 5000, kernelBytes: 700, swapBytes: 5, failures: 4, pageFaults: 21 },
    limits: { cpuShares: 2597, cpuQuotaMicros: 20_000, cpuPeriodMicros: 100_000, memoryBytes: null, swapBytes: 4096n, threads: 0 },
    pids: [12, 13],
    threads: 5,
    oomKills: 2,
    io: [{ device: '8:0', readBytes: 1024, writeBytes: 2048, reads: 3, writes: 4 }],
    pressure: { cpu: { some: { avg10: 1.5, avg300: 0.25, total: 77 } }, memory: { full: { total: 2 } }, io: { some: { total: 3 } } },
  });
  t.match(broken, { cpu: { usageNanos: 0 }, memory: null, pids: null, pressure: null });
  rmSync(join(root, pod2), { recursive: true });
  t.strictSame(
    (await reader.read(['/', '/kubepods/poda'], () => 'use-and-processes')).map(({ path }) => path),
    ['/'],
    'a cgroup that was known and is gone',
  );
});

const v1Mounts = ['cpu', 'cpuacct', 'memory', 'pids', 'blkio'].map((name, i) => `${30 + i} 23 0:${26 + i} / /sys/fs/cgroup/${name} rw - cgroup cgroup rw,${name}\n`).join('');

t.test('cgroup v1', async (t) => {
  const at = (controller: string, file: string): string => `/sys/fs/cgroup/${controller}/a/${file}`;
  const root = tree(t, {
    [at('cpu', 'cpu.stat')]: 'nr_periods 7\nnr_throttled 3\nthrottled_time 9\nnr_bursts 1\nburst_time 2\n',
    [at('cpu', 'cpu.shares')]: '512\n',
    [at('cpu', 'cpu.cfs_quota_us')]: '-1\n',
    [at('cpu', 'cpu.cfs_period_us')]: '100000\n',
    [at('cpu', 'cgroup.procs')]: '12\n',
    [at('cpu', 'cgroup.clone_children')]: '0\n',
    [at('cpuacct', 'cpuacct.usage')]: '1500000\n',
    [at('cpuacct', 'cpuacct.stat')]: 'user 3\nsystem 4\n',
    [at('memory', 'memory.usage_in_bytes')]: '500\n',
    [at('memory', 'memory.limit_in_bytes')]: '9223372036854771712\n',
    [at('memory', 'memory.stat')]: 'rss 1\npgfault 5\ntotal_rss 200\ntotal_cache 300\ntotal_swap 8\ntotal_inactive_file 600\ntotal_pgfault 6\n',
    [at('memory', 'memory.oom_control')]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
    [at('pids', 'pids.current')]: '4\n',
    [at('blkio', 'blkio.throttle.io_service_bytes')]: '8:0 Read 512\n8:0 Write 1024\n8:0 Sync 9\nTotal 1536\n',
    [at('blkio', 'blkio.throttle.io_serviced')]: '8:0 Read 1\n8:0 Write 2\nTotal 3\n',
  });
  const reader = new CgroupReader({ native, layout: cgroupLayout(v1Mounts), nowMillis, now: () => nowMillis() * 1_000, hostRoot: root });
  t.teardown(() => reader.close());
  const [read] = await reader.read(['/a'], () => 'all');
  t.match(read?.counters, {
    cpu: { usageNanos: 1_500_000, userNanos: 30_000_000, systemNanos: 40_000_000, throttledNanos: 9 },
    memory: { usageBytes: 500, workingSetBytes: 0, rssBytes: 200, cacheBytes: 300, swapBytes: 8, ownPageFaults: 5, pageFaults: 6 },
    limits: { cpuShares: 512, cpuQuotaMicros: null, memoryBytes: 9_223_372_036_854_771_712n },
    pids: [12],
    threads: 4,
    oomKills: 3,
    io: [{ device: '8:0', readBytes: 512, writeBytes: 1024, reads: 1, writes: 2 }],
    pressure: null,
  });
  const [small] = await reader.read(['/a'], () => 'use-and-processes');
  t.match(small?.counters, { cpu: { usageNanos: 1_500_000, userNanos: 0 }, memory: { usageBytes: 500, rssBytes: 200 }, threads: 0 }, 'the small set has what the summary needs');
});

t.test('this host', { skip: readCgroupLayout('/proc/self/mountinfo').hierarchies.length === 0 ? 'no cgroups are mounted' : false }, async (t) => {
  const layout = readCgroupLayout('/proc/self/mountinfo');
  const reader = new CgroupReader({ native, layout, nowMillis, now: () => nowMillis() * 1_000 });
  t.teardown(() => reader.close());
  const [first] = await reader.read(['/'], () => 'all');
  let spent = 0;
  for (const end = process.cpuUsage().user + 60_000; process.cpuUsage().user < end; ) spent++;
  const [second] = await reader.read(['/'], () => 'all');
  t.ok(spent > 0);
  t.ok((second?.counters.cpu?.usageNanos ?? 0) - (first?.counters.cpu?.usageNanos ?? 0) >= 50_000_000, 'the time that this process has burnt is in it');
  t.ok((first?.counters.memory?.usageBytes ?? 0) > 1_000_000);
  t.ok(parseNetDev(readFileSync('/proc/self/net/dev', 'utf8')).every(({ name }) => name !== 'lo'));
  const disks = parseDiskstats(' 254       0 vda 65070 12 3434 99 71 8 900 120 3 5000 219 0 0 0 0 11 2\n   7 0 loop0 1 2\n\n');
  t.strictSame(
    [...disks],
    [
      [
        '254:0',
        {
          ...{ reads: 65070, readsMerged: 12, sectorsRead: 3434, readMillis: 99, writes: 71, writesMerged: 8, sectorsWritten: 900, writeMillis: 120 },
          ...{ inProgress: 3, busyMillis: 5000, weightedMillis: 219 },
        },
      ],
    ],
  );
  t.ok([...parseDiskstats(readFileSync('/proc/diskstats', 'utf8')).keys()].every((number) => /^\d+:\d+$/.test(number)));
  t.ok((parseBootTime(readFileSync('/proc/stat', 'utf8')) ?? 0) > 1_000_000_000);
  t.ok((parseTaskCount(readFileSync('/proc/loadavg', 'utf8')) ?? 0) > 1);
  const processes = new ProcessReader({ native });
  t.teardown(() => processes.close());
  const [open, none] = await processes.openFiles([[process.pid, 2 ** 22 - 1], []]);
  t.ok((open?.descriptors ?? 0) > 2 && (open?.openFilesMax ?? 0) > 0);
  t.strictSame(none, { descriptors: 0, sockets: 0, openFilesMax: null });
  const [own, gone] = await processes.interfaces(['self', 2 ** 22 - 1]);
  t.ok(own?.every(({ name }) => name !== 'lo'));
  t.equal(gone, null, 'a process that ended');
});

t.test('what files take', async (t) => {
  const root = tree(t, { '/a/one': 'x'.repeat(5000), '/a/b/two': 'y', '/a/b/c/three': 'z' });
  linkSync(join(root, 'a/one'), join(root, 'a/same'));
  symlinkSync('/usr', join(root, 'a/away'));
  const usage = await treeUsage(join(root, 'a'));
  t.match(usage, { inodesUsed: 7, isPartial: false }, 'three directories, three files, a link; the file with two names once');
  t.ok((usage?.usedBytes ?? 0) >= 8192 && (usage?.usedBytes ?? 0) < 1_000_000);
  t.match(await treeUsage(join(root, 'a'), 3), { isPartial: true });
  t.equal(await treeUsage(join(root, 'none')), null);
  t.match(await directFilesUsage(join(root, 'a/b')), { inodesUsed: 1 });
  t.equal(await directFilesUsage(join(root, 'none')), null);
});

t.test('the text', async (t) => {
  const rows: readonly (readonly [value: number, text: string])[] = [
    [0, '0'],
    [149_638, '149638'],
    [1_359_872, '1.359872e+06'],
    [5667.334948796, '5667.334948796'],
    [25_325_268_992, '2.5325268992e+10'],
    [1.795817638644399e9, '1.795817638644399e+09'],
    [0.00001, '1e-05'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, '+Inf'],
  ];
  for (const [value, text] of rows) t.equal(metricNumber(value), text);
  const layout = cgroupLayout(v2Mount);
  const root = tree(t, { '/sys/fs/cgroup/x/cpu.stat': 'usage_usec 5\n', '/sys/fs/cgroup/x/memory.stat': stat2, '/sys/fs/cgroup/x/cpu.max': '5 10\n' });
  const reader = new CgroupReader({ native, layout, nowMillis, now: () => nowMillis() * 1_000, hostRoot: root });
  t.teardown(() => reader.close());
  const [read] = await reader.read(['/x'], () => 'all');
  if (read === undefined) throw new Error('the fixture was not read');
  const families = new CadvisorFamilies(5000, () => '/dev/x');
  const odd = { id: '/x', container: 'a"b\\c\nd', image: 'i', name: 'n', namespace: 'ns', pod: 'p', readAtMillis: 7, startedAtMillis: 9000 };
  families.addContainer({ ...odd, counters: read.counters, interfaces: [], openFiles: { descriptors: 1, sockets: 2, openFilesMax: 3 }, filesystems: [] });
  families.addScrapeErrors(false, true);
  const text = [...familyTexts(families.all())].join('');
  t.strictSame(metricFindings(text), []);
  t.match(text, /\ncontainer_cpu_usage_seconds_total\{container="a\\"b\\\\c\\nd",cpu="total",id="\/x",image="i",name="n",namespace="ns",pod="p"\} 5e-06 7\n/);
  t.match(text, /pod="p",scope="hierarchy"\} 21 7\n/);
  t.match(text, /pod="p",ulimit="max_open_files"\} 3 7\n/);
  t.match(text, /\ncontainer_start_time_seconds\{[^}]*\} 9\n/);
  t.match(text, /\nmachine_scrape_error 1\n/);
});

t.test('resource metrics leave out what is not known', async (t) => {
  const nothing = { cpu: null, memory: null, swap: null };
  const swap = { atMillis: 3, usageBytes: 1, availableBytes: 2 };
  const pod = { ...nothing, name: 'p', namespace: 'n', containers: [{ ...nothing, swap, name: 'c', startedAtSeconds: 0 }] };
  const text = [...familyTexts(resourceFamilies({ node: null, pods: [pod], failed: true }))].join('');
  t.strictSame(metricFindings(text), []);
  t.strictSame(
    text.split('\n').filter((line) => !line.startsWith('#')),
    ['container_swap_limit_bytes{container="c",namespace="n",pod="p"} 3 3', 'container_swap_usage_bytes{container="c",namespace="n",pod="p"} 1 3', 'resource_scrape_error 1', ''],
    'no start time before there is one, and no CPU that was not read',
  );
});

t.test('the image of sandboxes, from two generations of configuration', async (t) => {
  t.equal(sandboxImageOf('{"sandboxImage": "registry.k8s.io/pause:3.8","x":1}'), 'registry.k8s.io/pause:3.8');
  t.equal(sandboxImageOf('{"pinnedImages":{"a":"b","sandbox":"registry.k8s.io/pause:3.10"}}'), 'registry.k8s.io/pause:3.10');
  t.equal(sandboxImageOf('{}'), null);
});

t.test('the lint finds what is wrong', async (t) => {
  const rows: readonly (readonly [text: string, finding: RegExp])[] = [
    ['# TYPE a gauge\na 1\n# TYPE a gauge\na 2\n', /twice/],
    ['a 1\n', /no type/],
    ['# TYPE a gauge\na{b="1"} 1\na{b="1"} 2\n', /same labels/],
    ['# TYPE a gauge\na{b=1} 1\n', /not a sample/],
    ['# TYPE a gauge\na one\n', /not a sample/],
    ['# TYPE a table\na 1\n', /unknown type/],
    ['# TYPE a gauge\na 1', /newline/],
  ];
  for (const [text, finding] of rows) t.match(metricFindings(text).join('; '), finding);
});

t.test('a page of many families is made in slices, also for a reader that takes all at once', async (t) => {
  let turns = 0;
  let done = false;
  const turn = (): void => {
    turns++;
    if (!done) setImmediate(turn);
  };
  function* texts(): Generator<string> {
    for (let family = 0; family < 6; family++) {
      // Longer than a slice.
      const end = performance.now() + 4;
      while (performance.now() < end);
      yield `family_${family} 1\n`;
    }
  }
  const route = metricsRoute('/metrics/cadvisor', { contentType: 'text/plain', headers: {}, texts });
  const question = { method: 'GET', path: '', elements: [], query: new URLSearchParams(), headers: {}, body: async () => '', signal: new AbortController().signal };
  setImmediate(turn);
  const answer = await route.answer(question);
  if (answer === null || !('chunks' in answer)) throw new Error('not a stream');
  let text = '';
  for await (const chunk of answer.chunks) text += Buffer.from(chunk).toString();
  done = true;
  t.equal(text.split('\n').length, 7);
  t.ok(turns >= 5, `${turns} turns of the loop for six slices`);
});
