// A node with many pods for benchmarks of statistics: cgroups of this host, a sandbox with a network and a container each, both with a process;
// and the agent's own path from them to its answers. It requires root.
// Invariant: everything is below one directory of its own in each hierarchy, and is removed with the process.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { type KubeletRoute, metricsRoute, statsSummaryRoute } from '../../src/adapters/http-server/index.js';
import { CgroupReader, ProcessReader, readCgroupLayout, statsDescriptorsMax } from '../../src/adapters/linux/index.js';
import { familyTexts, resourceFamilies } from '../../src/adapters/metrics/index.js';
import type { NativeLinux } from '../../src/adapters/native-linux/index.js';
import { cadvisorTexts } from '../../src/adapters/node-stats/cadvisor-answers.js';
import { NodeSampler } from '../../src/adapters/node-stats/node-sampler.js';
import { NodeStats } from '../../src/adapters/node-stats/node-stats.js';
import { PodDiskUsage } from '../../src/adapters/node-stats/pod-disk-usage.js';
import { resourcesOf, summaryOf } from '../../src/adapters/node-stats/summary-answers.js';
import { summaryRules } from '../../src/domain/stats/summary-rules.js';
import { instantOf } from '../../src/domain/values/instant.js';

export interface StatisticsNode {
  readonly podCount: number;
  /** Below which its cgroups are. */
  readonly top: string;
  readonly layout: ReturnType<typeof readCgroupLayout>;
  /** Of all its cgroups. */
  readonly paths: readonly string[];
}

export function openStatisticsNode(podCount: number): StatisticsNode {
  const below = numbered(podCount).flatMap((i) => ['', `/sandbox${i}`, `/container${i}`].map((path) => `/poduid${i}${path}`));
  const top = `/kubelet-ts-bench-${process.pid}`;
  const paths = ['', ...below].map((path) => `${top}${path}`);
  const layout = readCgroupLayout('/proc/self/mountinfo');
  // A process can't be put into a cpuset that was given no CPUs, and of that nothing is read.
  const mountPoints = layout.hierarchies.flatMap(({ mountPoint, controllers }) => (controllers.includes('cpuset') ? [] : [mountPoint]));
  const processes: ChildProcess[] = [];
  process.once('exit', () => {
    for (const child of processes) child.kill('SIGKILL');
    for (const mountPoint of mountPoints) for (const path of paths.toReversed()) removeSoon(`${mountPoint}${path}`);
  });
  // An end by signal passes by the handlers of the exit.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  for (const mountPoint of mountPoints) for (const path of paths) mkdirSync(`${mountPoint}${path}`);
  for (const path of below.filter((path) => path.lastIndexOf('/') > 0)) {
    const child = sleeper(path.includes('sandbox'));
    processes.push(child);
    for (const mountPoint of mountPoints) writeFileSync(`${mountPoint}${top}${path}/cgroup.procs`, String(child.pid));
  }
  return { podCount, top, layout, paths };
}

const numbered = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

/** One in each sandbox and container, that sleeps; a sandbox's has an interface of its own. */
function sleeper(isSandbox: boolean): ChildProcess {
  const interfaces = 'ip link add eth0 type veth peer name peer0 && ip link set peer0 up && ip link set eth0 up; exec sleep 600';
  const child = isSandbox ? spawn('unshare', ['-n', 'sh', '-c', interfaces], { stdio: 'ignore' }) : spawn('sleep', ['600'], { stdio: 'ignore' });
  child.unref();
  return child;
}

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

const usage = { type: 0n, capacityBytes: 10n, freeBytes: 5n, availableBytes: 4n, inodes: 9n, inodesFree: 3n, mountOptions: null };
const page = { contentType: 'text/plain', headers: {} };

export interface StatisticsAnswers {
  /** From now on the snapshot is outdated, and is read again. */
  later(): void;
  /** All files of all cgroups; how many cgroups. */
  readEverything(): Promise<number>;
  readonly routes: readonly KubeletRoute[];
  close(): void;
}

export function statisticsAnswers(node: StatisticsNode, native: Pick<NativeLinux, 'openFileBatch'>): StatisticsAnswers {
  const { top, layout } = node;
  const numbers = numbered(node.podCount);
  const listing = {
    observedAt: 0,
    foreign: 0,
    foreignImages: [],
    pods: numbers.map((i) => ({
      ...{ uid: `uid${i}`, name: `p${i}`, namespace: 'default' },
      sandboxes: [{ id: `sandbox${i}`, state: 'ready' as const, attempt: 0, createdAt: instantOf(1) }],
      containers: [{ id: `container${i}`, name: 'c', state: 'running' as const, sandboxId: `sandbox${i}`, attempt: 0, createdAt: instantOf(1) }],
    })),
  };
  let now = Date.now() * 1_000;
  const reader = new CgroupReader({ native, layout, nowMillis: () => Math.floor(now / 1_000), now: () => now, descriptorsMax: statsDescriptorsMax });
  const stats = new NodeStats({
    sampler: new NodeSampler({ reader, processes: new ProcessReader({ native }), trees: [top], single: [], now: () => now, pause: async () => {} }),
    runtime: { listPods: async () => listing },
    criStats: {
      containers: async () => numbers.map((i) => ({ containerId: `container${i}`, cpu: null, memory: null, swap: null, writableLayer: null })),
      imageFilesystems: async () => [{ time: instantOf(1), mountpoint: '/', usedBytes: 1, inodesUsed: 1 }],
    },
    diskUsage: new PodDiskUsage({
      walks: { files: async () => null, tree: async () => null, volume: async () => null, quota: async () => null, filesystem: async () => null, driver: async () => null },
      volumes: () => [],
      ...{ rootDirectory: '/none', podLogsDirectory: '/none', volumePeriod: 0, now: () => now, wall: () => instantOf(now), random: () => 0 },
    }),
    filesystemUsage: { usage: async () => usage },
    ...{ rootDirectory: '/', pods: () => [], now: () => now, wall: () => instantOf(now) },
  });
  const machine = { memoryBytes: 1e10, swapBytes: 0 };
  const summary = {
    stats,
    node: { name: 'n', bootedAt: instantOf(1), systemCgroups: [], machine },
    rules: summaryRules,
    processCounts: async () => ({ maxPid: 1, processes: 1 }),
    onMissing: () => {},
  };
  const cadvisor = {
    stats,
    nowMillis: () => 1,
    machine: () => Promise.reject(new Error('none')),
    memoryBytes: 1e10,
    images: () => new Map(),
    sandboxImage: () => 'image',
    rootFilesystems: async () => [],
    deviceName: () => '',
  };
  return {
    later() {
      now += 15_000_000;
    },
    readEverything: async () => (await reader.read(node.paths, () => 'all')).length,
    routes: [
      statsSummaryRoute((only) => summaryOf(summary, only)),
      metricsRoute('/metrics/resource', { ...page, texts: async () => familyTexts(resourceFamilies(await resourcesOf(summary))) }),
      metricsRoute('/metrics/cadvisor', { ...page, texts: () => cadvisorTexts(cadvisor) }),
    ],
    close: () => reader.close(),
  };
}
