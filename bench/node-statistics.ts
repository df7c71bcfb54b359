// /stats/summary, /metrics/resource and /metrics/cadvisor of a node with 100 pods (a sandbox and a container each): 300 empty cgroups of this
// host, which takes root. The addon against the fallback that reads file by file with Node, in one run.
// One JSON line an answer, and one for the reading alone: medians and p99; `cpuRatio` is the fallback's CPU time over the addon's.
import { mkdirSync, rmdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type KubeletRoute, metricsRoute, statsSummaryRoute } from '../src/adapters/http-server/index.js';
import { CgroupReader, readCgroupLayout, statsDescriptorsMax } from '../src/adapters/linux/index.js';
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
const numbers = Array.from({ length: podCount }, (_, i) => i);
const paths = ['', ...numbers.flatMap((i) => ['', `/sandbox${i}`, `/container${i}`].map((below) => `/poduid${i}${below}`))];
/** Own cgroups, all below one directory in each hierarchy, without processes. */
const top = `/kubelet-ts-bench-${process.pid}`;
const layout = readCgroupLayout('/proc/self/mountinfo');
const mountPoints = [...new Set(layout.hierarchies.map(({ mountPoint }) => mountPoint))];
for (const mountPoint of mountPoints) for (const path of paths) mkdirSync(`${mountPoint}${top}${path}`);
process.once('exit', () => {
  for (const mountPoint of mountPoints) for (const path of paths.toReversed()) rmdirSync(`${mountPoint}${top}${path}`);
});
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

const readPaths = paths.map((path) => `${top}${path}`);
const page = { contentType: 'text/plain', headers: {} };

/** Of the whole body, as the server would send it. */
async function answeredBytes(route: KubeletRoute, path: string): Promise<number> {
  const question = { method: 'GET', path, elements: [], query: new URLSearchParams(), headers: {}, body: async () => '', signal: new AbortController().signal };
  const answer = await route.answer(question);
  if (answer === null || 'target' in answer) throw new Error('no answer');
  if (!('chunks' in answer)) return Buffer.from(answer.body).length;
  let bytes = 0;
  for await (const chunk of answer.chunks) bytes += chunk.length;
  return bytes;
}

/** Each question finds what is known too old, and reads anew. */
function answers(native: NativeLinux) {
  let now = Date.now() * 1_000;
  const reader = new CgroupReader({ native, layout, nowMillis: () => Math.floor(now / 1_000), descriptorsMax: statsDescriptorsMax });
  const stats = new NodeStats({
    sampler: new NodeSampler({ reader, trees: [top], single: [], now: () => now, pause: async () => {} }),
    runtime: { listPods: async () => listing },
    criStats: {
      containers: async () => numbers.map((i) => ({ containerId: `container${i}`, cpu: null, memory: null, swap: null, writableLayer: null })),
      imageFilesystems: async () => [{ time: 1, mountpoint: '/', usedBytes: 1, inodesUsed: 1 }],
    },
    diskUsage: new PodDiskUsage({
      walks: { files: async () => null, tree: async () => null, volume: async () => null, filesystem: async () => null, driver: async () => null },
      volumes: () => [],
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
      reading: async () => (await reader.read(readPaths, true)).length,
      '/stats/summary': () =>
        answeredBytes(
          statsSummaryRoute((only) => summaryOf(summary, only)),
          '/stats/summary',
        ),
      '/metrics/resource': () => answeredBytes(metricsRoute('/metrics/resource', { ...page, texts: async () => familyTexts(resourceFamilies(await resourcesOf(stats))) }), ''),
      '/metrics/cadvisor': () => answeredBytes(metricsRoute('/metrics/cadvisor', { ...page, texts: () => cadvisorTexts(cadvisor) }), ''),
    },
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const rounded = (value: number): number => Math.round(value * 100) / 100;

async function measured(native: NativeLinux) {
  const { asks, later, close } = answers(native);
  const results = new Map<string, { readonly millis: number; readonly p99Millis: number; readonly cpuMillis: number; readonly blockMillis: number; readonly bytes: number }>();
  for (const [path, ask] of Object.entries(asks)) {
    // What is compiled on the way is not what an answer costs.
    for (let round = 0; round < rounds; round++) {
      later();
      await ask();
    }
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
    results.set(path, { millis: median(times), p99Millis: Math.max(...times), cpuMillis: median(cpu), blockMillis: delay.percentile(99) / 1e6, bytes });
  }
  close();
  return results;
}

const loaded = loadBinding(true);
if (loaded.kind !== 'addon') throw new Error(loaded.reason);
const addon = await measured(addonNativeLinux(loaded.binding, options));
const fallback = await measured(fallbackNativeLinux(options, 'to compare with'));
for (const [path, { millis, p99Millis, cpuMillis, blockMillis, bytes }] of addon) {
  const other = fallback.get(path)!;
  const compared = { fallbackMillis: rounded(other.millis), fallbackCpuMillis: rounded(other.cpuMillis), cpuRatio: rounded(other.cpuMillis / cpuMillis) };
  console.log(
    JSON.stringify({
      bench: 'node-statistics',
      path,
      pods: podCount,
      millis: rounded(millis),
      p99Millis: rounded(p99Millis),
      cpuMillis: rounded(cpuMillis),
      loopDelayP99Millis: rounded(blockMillis),
      bytes,
      ...compared,
    }),
  );
}
