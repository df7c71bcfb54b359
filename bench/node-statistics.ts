// /stats/summary, /metrics/resource and /metrics/cadvisor of a node with 100 pods (a sandbox and a container each), on a recorded tree of
// cgroup v1: 300 cgroups in a temporary directory. The addon against the fallback that reads file by file with Node, in one run.
// One JSON line an answer: medians; `cpuRatio` is the fallback's CPU time over the addon's.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { CgroupReader, cgroupLayout } from '../src/adapters/linux/index.js';
import { familyTexts, resourceFamilies } from '../src/adapters/metrics/index.js';
import { fallbackNativeLinux } from '../src/adapters/native-linux/fallback.js';
import { addonNativeLinux, type NativeLinux } from '../src/adapters/native-linux/index.js';
import { loadBinding } from '../src/adapters/native-linux/loader.js';
import { cadvisorTexts } from '../src/app/daemon/stats/cadvisor-answers.js';
import { NodeSampler } from '../src/app/daemon/stats/node-sampler.js';
import { NodeStats } from '../src/app/daemon/stats/node-stats.js';
import { PodDiskUsage } from '../src/app/daemon/stats/pod-disk-usage.js';
import { resourcesOf, summaryOf } from '../src/app/daemon/stats/summary-answers.js';

const podCount = 100;
const rounds = 15;
const options = { kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } };
const memoryStat = ['cache', 'rss', 'mapped_file', 'pgfault', 'pgmajfault', 'inactive_file', 'active_file', 'swap']
  .flatMap((name) => [`${name} 4096`, `total_${name} 8192`])
  .join('\n');
const files: readonly (readonly [controller: string, file: string, text: string])[] = [
  ['cpu', 'cpu.stat', 'nr_periods 1\nnr_throttled 0\nthrottled_time 0\n'],
  ['cpu', 'cpu.shares', '1024\n'],
  ['cpu', 'cpu.cfs_quota_us', '20000\n'],
  ['cpu', 'cpu.cfs_period_us', '100000\n'],
  ['cpu', 'cgroup.procs', ''],
  ['cpu', 'cgroup.clone_children', '0\n'],
  ['cpuacct', 'cpuacct.usage', '123456789\n'],
  ['cpuacct', 'cpuacct.stat', 'user 3\nsystem 4\n'],
  ['memory', 'memory.usage_in_bytes', '50000000\n'],
  ['memory', 'memory.max_usage_in_bytes', '60000000\n'],
  ['memory', 'memory.limit_in_bytes', '100000000\n'],
  ['memory', 'memory.stat', memoryStat],
  ['pids', 'pids.current', '4\n'],
];

function fixture(root: string, path: string): void {
  for (const [controller, file, text] of files) {
    const directory = join(root, 'sys/fs/cgroup', controller, path);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, file), text);
  }
}

const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-bench-'));
const numbers = Array.from({ length: podCount }, (_, i) => i);
fixture(root, '/');
for (const i of numbers) for (const below of ['', `/sandbox${i}`, `/container${i}`]) fixture(root, `/kubepods/poduid${i}${below}`);
const mountinfo = ['cpu', 'cpuacct', 'memory', 'pids'].map((name, i) => `${30 + i} 23 0:${26 + i} / /sys/fs/cgroup/${name} rw - cgroup cgroup rw,${name}\n`).join('');
const listing = {
  observedAt: 0,
  foreign: 0,
  pods: numbers.map((i) => ({
    ...{ uid: `uid${i}`, name: `p${i}`, namespace: 'default' },
    sandboxes: [{ id: `sandbox${i}`, state: 'ready' as const, attempt: 0, createdAt: 1 }],
    containers: [{ id: `container${i}`, name: 'c', state: 'running' as const, sandboxId: `sandbox${i}`, createdAt: 1 }],
  })),
};
const usage = { type: 0n, capacityBytes: 10n, freeBytes: 5n, availableBytes: 4n, inodes: 9n, inodesFree: 3n, mountOptions: null };

/** Each question finds what is known too old, and reads anew. */
function answers(native: NativeLinux) {
  let now = Date.now() * 1_000;
  const reader = new CgroupReader({ native, layout: cgroupLayout(mountinfo), nowMillis: () => Math.floor(now / 1_000), hostRoot: root });
  const stats = new NodeStats({
    sampler: new NodeSampler({ reader, trees: ['/kubepods'], single: [], now: () => now, pause: async () => {} }),
    runtime: { listPods: async () => listing },
    criStats: {
      containers: async () => numbers.map((i) => ({ containerId: `container${i}`, cpu: null, memory: null, swap: null, writableLayer: null })),
      imageFilesystems: async () => [{ time: 1, mountpoint: '/', usedBytes: 1, inodesUsed: 1 }],
    },
    diskUsage: new PodDiskUsage({
      walks: { files: async () => null, tree: async () => null, filesystem: async () => null },
      ...{ rootDirectory: '/none', podLogsDirectory: '/none', volumePeriod: 0, now: () => now, random: () => 0 },
    }),
    filesystemUsage: { usage: async () => usage },
    ...{ rootDirectory: '/', pods: () => [], now: () => now, systemCgroups: [], machine: { memoryBytes: 1e10, swapBytes: 0 } },
  });
  const later = () => {
    now += 15_000_000;
  };
  const summary = { stats, nodeName: 'n', bootedAt: 1, processCounts: async () => ({ maxPid: 1, processes: 1 }) };
  const cadvisor = { stats, nowMillis: () => 1, machine: () => Promise.reject(new Error('none')), imageOf: () => 'image', rootFilesystems: async () => [], deviceName: () => '' };
  return {
    close: () => reader.close(),
    later,
    asks: {
      '/stats/summary': async () => JSON.stringify(await summaryOf(summary, false), null, 1).length,
      '/metrics/resource': async () => [...familyTexts(resourceFamilies(await resourcesOf(stats)))].join('').length,
      '/metrics/cadvisor': async () => [...(await cadvisorTexts(cadvisor))].join('').length,
    },
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const rounded = (value: number): number => Math.round(value * 100) / 100;

async function measured(native: NativeLinux) {
  const { asks, later, close } = answers(native);
  const results = new Map<string, { readonly millis: number; readonly cpuMillis: number; readonly blockMillis: number; readonly bytes: number }>();
  for (const [path, ask] of Object.entries(asks)) {
    await ask();
    const times: number[] = [];
    const cpu: number[] = [];
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    let bytes = 0;
    for (let round = 0; round < rounds; round++) {
      later();
      const [start, before] = [performance.now(), process.cpuUsage()];
      bytes = await ask();
      times.push(performance.now() - start);
      const spent = process.cpuUsage(before);
      cpu.push((spent.user + spent.system) / 1_000);
    }
    delay.disable();
    results.set(path, { millis: median(times), cpuMillis: median(cpu), blockMillis: delay.percentile(99) / 1e6, bytes });
  }
  close();
  return results;
}

const loaded = loadBinding(true);
if (loaded.kind !== 'addon') throw new Error(loaded.reason);
const addon = await measured(addonNativeLinux(loaded.binding, options));
const fallback = await measured(fallbackNativeLinux(options, 'to compare with'));
for (const [path, { millis, cpuMillis, blockMillis, bytes }] of addon) {
  const other = fallback.get(path)!;
  const compared = { fallbackMillis: rounded(other.millis), fallbackCpuMillis: rounded(other.cpuMillis), cpuRatio: rounded(other.cpuMillis / cpuMillis) };
  console.log(
    JSON.stringify({
      bench: 'node-statistics',
      path,
      pods: podCount,
      millis: rounded(millis),
      cpuMillis: rounded(cpuMillis),
      loopDelayP99Millis: rounded(blockMillis),
      bytes,
      ...compared,
    }),
  );
}
rmSync(root, { recursive: true, force: true });
