// /stats/summary, /metrics/resource and /metrics/cadvisor of a node with 100 pods (a sandbox and a container each, with a process): 300 cgroups of
// this host, which takes root. The addon against the fallback that reads file by file with Node, in turns of one run.
// One JSON line an answer, and one for the reading alone: medians and p99; `cpuRatio` is the fallback's CPU time over the addon's. `scaled` figures
// are divided by how much slower this host is than the quiet one that the targets were set on.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type KubeletRoute, metricsRoute, statsSummaryRoute } from '../src/adapters/http-server/index.js';
import { CgroupReader, ProcessReader, readCgroupLayout, statsDescriptorsMax } from '../src/adapters/linux/index.js';
import { familyTexts, resourceFamilies } from '../src/adapters/metrics/index.js';
import { fallbackNativeLinux } from '../src/adapters/native-linux/fallback.js';
import { addonNativeLinux, type NativeLinux } from '../src/adapters/native-linux/index.js';
import { loadBinding } from '../src/adapters/native-linux/loader.js';
import { cadvisorTexts } from '../src/app/daemon/stats/cadvisor-answers.js';
import { NodeSampler } from '../src/app/daemon/stats/node-sampler.js';
import { NodeStats } from '../src/app/daemon/stats/node-stats.js';
import { PodDiskUsage } from '../src/app/daemon/stats/pod-disk-usage.js';
import { resourcesOf, summaryOf } from '../src/app/daemon/stats/summary-answers.js';
import { loopMs, quiet } from './calibration.js';

const podCount = 100;
const rounds = 25;
const warmUps = 40;
const options = { kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } };
const numbers = Array.from({ length: podCount }, (_, i) => i);
const paths = ['', ...numbers.flatMap((i) => ['', `/sandbox${i}`, `/container${i}`].map((below) => `/poduid${i}${below}`))];
/** Own cgroups, all below one directory in each hierarchy. */
const top = `/kubelet-ts-bench-${process.pid}`;
const layout = readCgroupLayout('/proc/self/mountinfo');
/** A process can't be put into a cpuset that was given no CPUs, and of that nothing is read. */
const mountPoints = layout.hierarchies.flatMap(({ mountPoint, controllers }) => (controllers.includes('cpuset') ? [] : [mountPoint]));
for (const mountPoint of mountPoints) for (const path of paths) mkdirSync(`${mountPoint}${top}${path}`);
/** One in each sandbox and container, that sleeps. */
const processes: ChildProcess[] = [];

function sleepIn(path: string): void {
  // A pod's interface, that has told its neighbours of itself.
  const interfaces = 'ip link add eth0 type veth peer name peer0 && ip link set peer0 up && ip link set eth0 up; exec sleep 600';
  const child = path.includes('sandbox') ? spawn('unshare', ['-n', 'sh', '-c', interfaces], { stdio: 'ignore' }) : spawn('sleep', ['600'], { stdio: 'ignore' });
  child.unref();
  processes.push(child);
  for (const mountPoint of mountPoints) writeFileSync(`${mountPoint}${path}/cgroup.procs`, String(child.pid));
}

process.once('exit', () => {
  for (const child of processes) child.kill('SIGKILL');
  for (const mountPoint of mountPoints) for (const path of paths.toReversed()) removeSoon(`${mountPoint}${top}${path}`);
});

/** Its processes take a moment to go. */
function removeSoon(cgroup: string, tries = 500): void {
  try {
    rmdirSync(cgroup);
  } catch (error) {
    if (tries === 0) throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    removeSoon(cgroup, tries - 1);
  }
}
for (const path of paths.filter((path) => path.lastIndexOf('/') > 0)) sleepIn(`${top}${path}`);
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

const answered = (route: KubeletRoute, path: string) => () => answeredBytes(route, path);

/** Each question finds what is known too old, and reads anew. */
function answers(native: NativeLinux) {
  let now = Date.now() * 1_000;
  const reader = new CgroupReader({ native, layout, nowMillis: () => Math.floor(now / 1_000), descriptorsMax: statsDescriptorsMax });
  const stats = new NodeStats({
    sampler: new NodeSampler({ reader, processes: new ProcessReader({ native }), trees: [top], single: [], now: () => now, pause: async () => {} }),
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
      reading: async () => (await reader.read(readPaths, () => 'all')).length,
      '/stats/summary': answered(
        statsSummaryRoute((only) => summaryOf(summary, only)),
        '/stats/summary',
      ),
      '/metrics/resource': answered(metricsRoute('/metrics/resource', { ...page, texts: async () => familyTexts(resourceFamilies(await resourcesOf(stats))) }), ''),
      '/metrics/cadvisor': answered(metricsRoute('/metrics/cadvisor', { ...page, texts: () => cadvisorTexts(cadvisor) }), ''),
    },
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const rounded = (value: number): number => Math.round(value * 100) / 100;

interface Costs {
  readonly millis: number[];
  readonly cpuMillis: number[];
  /** The longest that the loop was held up in each. */
  readonly heldMillis: number[];
  bytes: number;
}

type Asks = ReturnType<typeof answers>;

const newCosts = (): Costs => ({ millis: [], cpuMillis: [], heldMillis: [], bytes: 0 });

async function askOnce({ asks, later }: Asks, path: keyof Asks['asks'], costs: Costs): Promise<void> {
  later();
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const [start, before] = [performance.now(), process.cpuUsage()];
  costs.bytes = await asks[path]();
  costs.millis.push(performance.now() - start);
  const spent = process.cpuUsage(before);
  costs.cpuMillis.push((spent.user + spent.system) / 1_000);
  delays.disable();
  costs.heldMillis.push(delays.max / 1e6);
}

const loaded = loadBinding(true);
if (loaded.kind !== 'addon') throw new Error(loaded.reason);
const addon = answers(addonNativeLinux(loaded.binding, options));
const fallback = answers(fallbackNativeLinux(options, 'to compare with'));
const slowness = loopMs() / quiet.loop;
for (const path of Object.keys(addon.asks) as (keyof Asks['asks'])[]) {
  let [own, other] = [newCosts(), newCosts()];
  // What is compiled on the way is not what an answer costs.
  for (let round = -warmUps; round < rounds; round++) {
    if (round === 0) [own, other] = [newCosts(), newCosts()];
    await askOnce(addon, path, own);
    await askOnce(fallback, path, other);
  }
  const [millis, cpuMillis, fallbackCpuMillis] = [median(own.millis), median(own.cpuMillis), median(other.cpuMillis)];
  const figures = {
    ...{ bench: 'node-statistics', path, pods: podCount, slowness: rounded(slowness), millis: rounded(millis), p99Millis: rounded(Math.max(...own.millis)) },
    ...{ cpuMillis: rounded(cpuMillis), scaledMillis: rounded(millis / slowness), scaledCpuMillis: rounded(cpuMillis / slowness) },
    ...{
      loopHeldMillis: rounded(median(own.heldMillis)),
      loopHeldMaxMillis: rounded(Math.max(...own.heldMillis)),
      bytes: own.bytes,
      fallbackMillis: rounded(median(other.millis)),
    },
    ...{ fallbackCpuMillis: rounded(fallbackCpuMillis), cpuRatio: rounded(fallbackCpuMillis / cpuMillis) },
  };
  console.log(JSON.stringify(figures));
}
addon.close();
fallback.close();
