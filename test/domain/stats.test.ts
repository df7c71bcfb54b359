// The stats summary and the requests that may read it: rules that have no example elsewhere.

import t from 'tap';
import { nextAccessStep } from '../../src/domain/authorization/access-decision.js';
import { accessAttributes } from '../../src/domain/authorization/request-attributes.js';
import { pathLabel, webSocketLabel } from '../../src/domain/authorization/request-metric-labels.js';
import { matchServerPattern } from '../../src/domain/authorization/server-patterns.js';
import { cgroupStats } from '../../src/domain/stats/cgroup-stats.js';
import { rootFilesystemStats } from '../../src/domain/stats/filesystem-stats.js';
import { liveCgroups } from '../../src/domain/stats/live-cgroups.js';
import { cpuAndMemorySummary, type FullSummaryFacts, statsSummary } from '../../src/domain/stats/node-summary.js';
import { podStats } from '../../src/domain/stats/pod-stats.js';
import { type CpuRates, forgetOldCpuRates, readCpuRate, updateCpuRate } from '../../src/domain/values/cpu-rates.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { decodePath, splitTarget } from '../../src/domain/values/request-target.js';
import { emptyWindow, nextSampleAt, type RawCgroupReading, sampled } from '../../src/domain/values/sample-window.js';
import type { CgroupSample } from '../../src/ports/model/cgroup-sample.js';

const second = 1_000_000;
const now = 1_700_000_000 * second;

function cgroup(usageNanoCores: number, rssBytes: number, changes: Partial<CgroupSample> = {}): CgroupSample {
  const memory = { usageBytes: 10, workingSetBytes: 8, rssBytes, swapBytes: 0, pageFaults: 0, majorPageFaults: 0 };
  const reading = { time: instantOf(now), at: now, cpu: { usageCoreNanoSeconds: 5, usageNanoCores }, memory, network: [], processCount: 1, diskIo: false, pressure: null };
  const labels = { 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'n', 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.container.name': 'c' };
  return {
    createdAt: instantOf(now),
    hasCpu: true,
    hasMemory: true,
    hasNetwork: false,
    hasDiskIo: false,
    memoryLimitBytes: null,
    swapLimitBytes: null,
    labels,
    reading,
    ...changes,
  };
}

t.test('which cgroup of a container counts', async (t) => {
  const ids = (cgroups: Record<string, CgroupSample>): string[] => [...liveCgroups(cgroups).keys()];
  t.strictSame(ids({ '/a/x': cgroup(0, 0) }), [], 'one that does nothing is dead');
  t.strictSame(ids({ '/a/x': cgroup(1, 0) }), ['x']);
  t.strictSame(ids({ '/a/x': cgroup(1, 1), '/a/x/m.mount': cgroup(1, 1, { createdAt: instantOf(now + 1) }) }), ['x'], 'mount units never count');
  t.strictSame(ids({ '/a/old': cgroup(1, 1), '/a/new': cgroup(1, 1, { createdAt: instantOf(now + 1) }), '/a/idle': cgroup(1, 0, { createdAt: instantOf(now + 2) }) }), ['new']);
  t.strictSame(ids({ '/a/x': cgroup(1, 1, { labels: {} }) }), [], 'a cgroup of nobody');
});

t.test('a limit below what is used leaves less than nothing', async (t) => {
  t.equal(cgroupStats(cgroup(1, 1, { memoryLimitBytes: 5n })).memory?.availableBytes, -3);
  t.equal(cgroupStats(cgroup(1, 1, { memoryLimitBytes: 2n ** 62n + 1n })).memory?.availableBytes, undefined);
});

t.test('CPU rates of containers that are not read any more are forgotten', async (t) => {
  const rates: CpuRates = new Map();
  const reading = (seconds: bigint, usage: bigint) => ({ timeNanos: seconds * 1_000_000_000n, usageCoreNanoSeconds: usage, usageNanoCores: null });
  updateCpuRate(rates, 'a', reading(1n, 0n), now);
  t.equal(updateCpuRate(rates, 'a', reading(3n, 1_000_000_000n), now), 500_000_000);
  t.equal(readCpuRate(rates, 'a', reading(9n, 9n)), 500_000_000);
  forgetOldCpuRates(rates, now + 600 * second);
  t.equal(rates.size, 1);
  forgetOldCpuRates(rates, now + 600 * second + 1);
  t.equal(rates.size, 0);
});

t.test('no pods, no answer that breaks', async (t) => {
  const nothing = { containerLogs: () => null, podLogs: () => null, etcHosts: () => null, ephemeralVolumes: () => [], persistentVolumes: () => [] };
  t.strictSame(
    podStats({ ...nothing, sandboxes: [], containers: [], readings: [], cgroups: {}, root: { time: instantOf(now), device: 'd' }, filesystems: {} }, instantOf(now)),
    [],
  );
  t.strictSame(rootFilesystemStats({ time: instantOf(now), device: 'd', capacityBytes: 9, usedBytes: 4, inodes: 7, inodesFree: 5 }), {
    ...{ time: '2023-11-14T22:13:20Z', capacityBytes: 9, usedBytes: 4, inodes: 7, inodesFree: 5, inodesUsed: 2 },
  });
});

t.test('paths of requests: decoded for the authorizer, matched element by element', async (t) => {
  const subresources = (path: string): string[] => accessAttributes('GET', decodePath(path) ?? '', 'n').map(({ subresource }) => subresource);
  t.strictSame(subresources('/%70ods'), ['pods', 'proxy']);
  t.strictSame(subresources('/stats%2Fsummary'), ['stats']);
  t.strictSame(subresources('//pods'), ['proxy'], 'not cleaned');
  t.equal(decodePath('/a%zz'), null);
  t.strictSame(splitTarget('https://h:1/pods?x=/y'), { path: '/pods', query: 'x=/y' });
  const rows: [string, string, unknown][] = [
    ['GET', '/stats', { kind: 'redirect', location: '/stats/?q=1' }],
    ['GET', '//stats', { kind: 'redirect', location: '/stats/?q=1' }],
    ['POST', '//pods/../exec/a', { kind: 'redirect', location: '/exec/a?q=1' }],
    ['GET', '/%70ods', { kind: 'matched', pattern: '/pods' }],
    ['GET', '/stats%2Fsummary', { kind: 'notFound' }],
    ['GET', '/logs/a%2Fb', { kind: 'matched', pattern: '/logs/' }],
    ['GET', '/healthz/', { kind: 'notFound' }],
    ['GET', '/metrics/cadvisor/x', { kind: 'notFound' }],
    ['GET', '/', { kind: 'notFound' }],
  ];
  for (const [method, path, want] of rows) t.strictSame(matchServerPattern(method, path, 'q=1'), want, path);
  t.equal(pathLabel('/metrics/'), 'metrics');
  t.equal(pathLabel('/'), 'other');
});

t.test('streams by WebSocket', async (t) => {
  const rows: [string, string | null, number, string | null][] = [
    ['/exec/ns/p/c', 'websocket', 101, 'exec'],
    ['/exec/ns/p/uid/c', 'WebSocket', 101, 'exec'],
    ['/attach/ns/p/c', 'websocket', 101, 'attach'],
    ['/portForward/ns/p', 'websocket', 400, 'portforward'],
    ['/exec/ns/p/c', 'SPDY/3.1', 101, null],
    ['/exec/ns/p/c', null, 400, null],
    ['/exec/ns/p/c', 'websocket', 401, null],
    ['/exec/ns/p/c', 'websocket', 403, null],
    ['/exec/ns/p/none', 'websocket', 404, null],
    ['/pods', 'websocket', 200, null],
    ['/toString', 'websocket', 200, null],
  ];
  for (const [path, upgrade, status, want] of rows) t.equal(webSocketLabel(path, upgrade, status), want, `${path} ${upgrade} ${status}`);
});

t.test('nothing passes without being allowed', async (t) => {
  const checks = accessAttributes('GET', '/pods', 'n');
  for (const opinions of [
    ['deny', 'deny'],
    ['no-opinion', 'deny'],
    ['error', 'allow'],
    ['deny', 'error'],
  ] as const) {
    t.equal(nextAccessStep('u', checks, opinions).kind, 'refused', opinions.join());
  }
  t.equal(nextAccessStep(null, checks, ['allow', 'allow']).kind, 'refused');
  t.equal(nextAccessStep('u', [], []).kind, 'refused');
  t.strictSame(nextAccessStep('u', checks, ['deny']), { kind: 'ask', attributes: checks[1] });
});

t.test('rates of cgroups are over the window between two readings', async (t) => {
  const raw = (seconds: number, usageCoreNanoSeconds: number): RawCgroupReading => ({
    ...{ time: instantOf(now + seconds * second), at: seconds * second, cpu: { usageCoreNanoSeconds }, memory: null, network: [], processCount: 1, diskIo: false, pressure: null },
  });
  let window = sampled(emptyWindow, raw(0, 1000));
  t.equal(window.reading?.cpu?.usageNanoCores, null, 'one reading has no rate');
  window = sampled(window, raw(10, 5_000_001_000));
  t.equal(window.reading?.cpu?.usageNanoCores, 500_000_000);
  t.equal(sampled(window, raw(10, 5_000_001_000)).reading?.cpu?.usageNanoCores, 500_000_000, 'the same moment again');
  window = sampled(window, raw(20, 5_000_001_000));
  t.equal(window.reading?.cpu?.usageNanoCores, 0);
  t.equal(window.interval, 15 * second, 'an idle cgroup is read less often');
  t.equal(nextSampleAt(window, 0.5, now), now + 22.5 * second);
  window = sampled(window, raw(30, 5));
  t.equal(window.reading?.cpu?.usageNanoCores, null, 'a counter that went back starts over');
  t.equal(window.interval, 10 * second);
});

t.test('the summary is all or nothing', async (t) => {
  const good: FullSummaryFacts = {
    nodeName: { ok: true, value: 'n' },
    rootCgroup: { ok: true, value: cgroup(1, 1, { createdAt: instantOf(now - second) }) },
    bootedAt: instantOf(now - 60 * second),
    systemContainers: [
      { name: 'kubelet', cgroup: cgroup(1, 1), startedAt: instantOf(now - 5 * second) },
      { name: 'misc', cgroup: null, startedAt: null },
    ],
    pods: { ok: true, value: [] },
    root: { ok: true, value: { time: instantOf(now), device: 'd' } },
    imageFs: { ok: true, value: { time: '2023-11-14T22:13:20Z' } },
    rlimit: { ok: true, value: { time: instantOf(now), maxPid: 9, processes: 3 } },
  };
  const full = statsSummary(good);
  const small = cpuAndMemorySummary(good);
  t.ok(full.ok && small.ok);
  if (!full.ok || !small.ok) return;
  t.equal(full.value.node.startTime, '2023-11-14T22:12:20Z', 'the boot');
  t.equal(small.value.node.startTime, '2023-11-14T22:13:19Z', 'the root cgroup');
  t.strictSame(
    full.value.node.systemContainers?.map(({ name, startTime }) => [name, startTime]),
    [['kubelet', '2023-11-14T22:13:15Z']],
  );
  t.strictSame(full.value.node.rlimit, { time: '2023-11-14T22:13:20Z', maxpid: 9, curproc: 3 });
  t.strictSame(Object.keys(small.value.node).sort(), ['cpu', 'memory', 'nodeName', 'startTime', 'swap', 'systemContainers']);
  const error = { ok: false, error: 'e' } as const;
  const rows: [Partial<FullSummaryFacts>, string][] = [
    [{ nodeName: error }, 'failed to get node info: e'],
    [{ rootCgroup: error, root: error }, 'failed to get root cgroup stats: e'],
    [{ root: error }, 'failed to get rootFs stats: e'],
    [{ imageFs: error }, 'failed to get imageFs stats: e'],
    [{ pods: error }, 'failed to list pod stats: e'],
    [{ rlimit: error }, 'failed to get rlimit stats: e'],
  ];
  for (const [bad, want] of rows) t.strictSame(statsSummary({ ...good, ...bad }), { ok: false, error: want });
});
