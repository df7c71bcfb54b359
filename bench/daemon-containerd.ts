// What the bundled daemon costs a node: standalone, 30 pods with a network of their own on a private containerd. Beside each figure stands
// its target; Kubernetes' own kubelet needs twice the processor time and more memory for the same.
//
// Figures are of the daemon's whole process. Since the host may be busy, the same run measures two things that never change: a loop of
// JavaScript (for processor time) and pods started one after the other by plain CRI calls (for durations). `scaled` is the figure divided
// by how much longer than on a quiet host its calibration took. One JSON line; nothing where containerd can't run.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxConfig } from '../src/ports/model/sandbox-config.js';
import type { Call } from '../src/ports/operation.js';
import { isRunning, KubeletProcess, manifest, pausing } from '../test/containerd/kubelet-process.js';
import { PrivateContainerd, skipWithoutContainerd } from '../test/containerd/private-containerd.js';
import { criClient } from '../test/ports/cri-harness.js';

const call: Call = { signal: new AbortController().signal, timeoutMicros: null };
const pods = 30;
const idleMs = 20_000;
const settleMs = 2_000;
const plainStarts = 5;
/** The shortest that either calibration was ever seen to take on the host that the targets were set on: as it is when quiet. Milliseconds. */
const quiet = { loop: 66, podStart: 160 };

interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'MiB' | '% of a core';
  readonly target: number | null;
  readonly calibration: 'loop' | 'podStart' | null;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Processor milliseconds of a fixed piece of work of the daemon's kind: objects to text and back, looked up and copied. */
function loopMs(): number {
  const object = { metadata: { name: 'pod', labels: { app: 'web', tier: 'front' } }, spec: { containers: [{ name: 'main', image: 'image:1', env: [] }] } };
  const once = (): number => {
    const before = process.cpuUsage();
    const known = new Map<string, unknown>();
    for (let i = 0; i < 20_000; i++) known.set(`uid-${i % 500}`, JSON.parse(JSON.stringify({ ...object, i })));
    const { user, system } = process.cpuUsage(before);
    return known.size === 500 ? (user + system) / 1000 : Number.NaN;
  };
  return median(Array.from({ length: 15 }, once));
}

/** Milliseconds from the request for a sandbox to its started container. */
async function plainPodStartMs(containerd: PrivateContainerd): Promise<number> {
  const { connection, ports } = criClient(containerd.endpoint);
  const times: number[] = [];
  for (let i = 0; i < plainStarts; i++) {
    const metadata = { name: `plain-${i}`, namespace: 'default', uid: `plain-${i}`, attempt: 0 };
    const config: SandboxConfig = {
      metadata,
      logDirectory: join(containerd.directory, 'plain'),
      labels: {},
      annotations: {},
      linux: { cgroupParent: join(containerd.cgroupRoot, 'plain') },
    };
    const start = performance.now();
    const { sandboxId } = await ports.sandboxes.run({ config, runtimeHandler: '' }, call);
    const container = { metadata: { name: 'main', attempt: 0 }, image: { image: containerd.images.pause }, labels: {}, annotations: {}, logPath: `${i}.log` };
    const { containerId } = await ports.containers.create({ sandboxId, config: container, sandboxConfig: config }, call);
    await ports.containers.start({ containerId }, call);
    times.push(performance.now() - start);
    await ports.sandboxes.stop({ sandboxId }, call);
    await ports.sandboxes.remove({ sandboxId }, call);
  }
  connection.close();
  return median(times);
}

/** Mebibytes of a field of /proc/PID/status. */
function memoryMiB(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) / 1024;
}

/** The daemon is watched where that costs it nothing: in its log and in the kernel's cgroups. */
async function measure(containerd: PrivateContainerd, kubelet: KubeletProcess): Promise<Figure[]> {
  const started = (): number => kubelet.log.split('"reason":"Started"').length - 1;
  const cgroups = (): number => readdirSync(join('/sys/fs/cgroup/pids', containerd.cgroupRoot, 'kubepods/besteffort')).filter((name) => name.startsWith('pod')).length;
  const spawnedAt = performance.now();
  await kubelet.start();
  const readyMs = performance.now() - spawnedAt;
  await delay(settleMs);
  const emptyMiB = memoryMiB(kubelet.pid, 'VmRSS');
  const before = kubelet.cpuSeconds;
  const start = performance.now();
  for (let i = 0; i < pods; i++) kubelet.apply(`pod-${i}.json`, manifest(`pod-${i}`, { hostNetwork: false, dnsPolicy: 'Default', containers: [pausing(containerd)] }));
  await kubelet.until('all pods have started', () => started() === pods, 120_000);
  const runningMs = performance.now() - start;
  await delay(settleMs);
  const startCpuMs = ((kubelet.cpuSeconds - before) * 1000) / pods;
  const idleFrom = { cpu: kubelet.cpuSeconds, at: performance.now() };
  await delay(idleMs);
  const idlePercent = ((kubelet.cpuSeconds - idleFrom.cpu) * 100_000) / (performance.now() - idleFrom.at);
  const loadedMiB = memoryMiB(kubelet.pid, 'VmRSS');
  await kubelet.until('all pods run', async () => (await kubelet.pods()).filter(isRunning).length === pods);
  const deleting = performance.now();
  for (let i = 0; i < pods; i++) kubelet.withdraw(`pod-${i}.json`);
  await kubelet.until('all pods are gone', () => cgroups() === 0, 120_000);
  const deletedMs = performance.now() - deleting;
  return [
    { name: 'ready after', value: readyMs, unit: 'ms', target: 1500, calibration: 'loop' },
    { name: 'all running after', value: runningMs, unit: 'ms', target: 3300, calibration: 'podStart' },
    { name: 'CPU per pod start', value: startCpuMs, unit: 'ms', target: 11, calibration: 'loop' },
    { name: 'idle CPU', value: idlePercent, unit: '% of a core', target: 0.85, calibration: 'loop' },
    { name: 'all deleted after', value: deletedMs, unit: 'ms', target: 3300, calibration: 'podStart' },
    { name: 'resident, empty', value: emptyMiB, unit: 'MiB', target: 75, calibration: null },
    { name: 'resident, loaded', value: loadedMiB, unit: 'MiB', target: 110, calibration: null },
    { name: 'resident, peak', value: memoryMiB(kubelet.pid, 'VmHWM'), unit: 'MiB', target: 120, calibration: null },
  ];
}

async function main(): Promise<void> {
  const skip = skipWithoutContainerd();
  if (skip !== false) {
    console.error(`daemon-containerd: ${skip}`);
    return;
  }
  const containerd = await PrivateContainerd.start();
  try {
    const calibration = { loop: loopMs(), podStart: await plainPodStartMs(containerd) };
    const kubelet = await KubeletProcess.prepare(containerd);
    const figures = await measure(containerd, kubelet);
    await kubelet.stop();
    const slowness = { loop: calibration.loop / quiet.loop, podStart: calibration.podStart / quiet.podStart };
    const round = (value: number): number => Number(value.toPrecision(3));
    const shown = figures.map(({ name, value, unit, target, calibration: by }) => ({
      name,
      unit,
      value: round(value),
      scaled: round(by === null ? value : value / slowness[by]),
      target,
    }));
    console.log(
      JSON.stringify({ bench: 'daemon-containerd', pods, calibrationMs: { loop: round(calibration.loop), podStart: round(calibration.podStart), quiet }, figures: shown }),
    );
  } finally {
    await containerd.stop();
  }
}

await main();
