// The bundled daemon's cost for a node: standalone, 30 and 100 static pods with a network of their own on a private containerd. Each
// figure has its target; Kubernetes' own kubelet needs twice the processor time and more memory for the same. `plain` is the time of the same pods
// by plain CRI calls, without any kubelet. Words after the name choose loads by their number of pods.
//
// Figures are of the daemon's whole process. Since the host may be busy, the same run measures two constant loads: a loop of
// JavaScript (for processor time) and pods started one after the other by plain CRI calls (for durations). `scaled` is the figure divided
// by the slowdown of its calibration against a quiet host. One JSON line a load; nothing where containerd can't run.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning, KubeletProcess, manifest, pausing } from '../test/containerd/kubelet-process.js';
import { PrivateContainerd, skipWithoutContainerd } from '../test/containerd/private-containerd.js';
import { calibrated, type Figure, type PlainLoad, plainLoad, printed } from './calibration.js';
import { beginLoopDelay, IdleProcess, type LoopDelay, measurable } from './stage/loop-delay.js';
import { memoryMiB } from './stage/process-cost.js';

interface Load {
  readonly pods: number;
  readonly targets: { readonly running: number; readonly cpu: number; readonly idle: number; readonly deleted: number };
}

const loads: readonly Load[] = [
  { pods: 30, targets: { running: 3300, cpu: 11, idle: 0.85, deleted: 3300 } },
  { pods: 100, targets: { running: 14_700, cpu: 14, idle: 2, deleted: 14_100 } },
];
const idleMs = 20_000;
const settleMs = 2_000;

/** How late timers of the daemon were while its pods started, and while they ended; beside those of a process that does nothing. */
interface Delays {
  readonly starting: LoopDelay & { readonly idleProcess: LoopDelay };
  readonly ending: LoopDelay & { readonly idleProcess: LoopDelay };
}

class DelayWatch {
  private constructor(
    private readonly path: string,
    private readonly idleProcess: IdleProcess,
  ) {}

  static async start(containerd: PrivateContainerd, kubelet: KubeletProcess): Promise<DelayWatch> {
    const path = join(containerd.directory, 'loop-delay');
    Object.assign(kubelet.environment, measurable(path));
    return new DelayWatch(path, await IdleProcess.start(join(containerd.directory, 'idle-delay')));
  }

  begin(pid: number): () => Promise<Delays['starting']> {
    const ends = [beginLoopDelay(pid, this.path), this.idleProcess.begin()] as const;
    return async () => ({ ...(await ends[0]()), idleProcess: await ends[1]() });
  }

  stop(): void {
    this.idleProcess.stop();
  }
}

/** The daemon is watched where that costs it nothing: in its log and in the kernel's cgroups. */
async function measure(
  containerd: PrivateContainerd,
  kubelet: KubeletProcess,
  { pods, targets }: Load,
  plain: PlainLoad,
  delays: DelayWatch,
): Promise<{ readonly figures: Figure[]; readonly loopDelayMs: Delays }> {
  const started = (): number => kubelet.log.split('"reason":"Started"').length - 1;
  const cgroups = (): number => readdirSync(join('/sys/fs/cgroup/pids', containerd.cgroupRoot, 'kubepods/besteffort')).filter((name) => name.startsWith('pod')).length;
  const spawnedAt = performance.now();
  await kubelet.start();
  const readyMs = performance.now() - spawnedAt;
  await delay(settleMs);
  const emptyMiB = memoryMiB(kubelet.pid, 'VmRSS');
  const before = kubelet.cpuSeconds;
  const endStarting = delays.begin(kubelet.pid);
  const start = performance.now();
  for (let i = 0; i < pods; i++) kubelet.apply(`pod-${i}.json`, manifest(`pod-${i}`, { hostNetwork: false, dnsPolicy: 'Default', containers: [pausing(containerd)] }));
  await kubelet.until('all pods have started', () => started() === pods, 120_000);
  const runningMs = performance.now() - start;
  await delay(settleMs);
  const starting = await endStarting();
  const startCpuMs = ((kubelet.cpuSeconds - before) * 1000) / pods;
  const idleFrom = { cpu: kubelet.cpuSeconds, at: performance.now() };
  await delay(idleMs);
  const idlePercent = ((kubelet.cpuSeconds - idleFrom.cpu) * 100_000) / (performance.now() - idleFrom.at);
  const loadedMiB = memoryMiB(kubelet.pid, 'VmRSS');
  await kubelet.until('all pods run', async () => (await kubelet.pods()).filter(isRunning).length === pods);
  const endEnding = delays.begin(kubelet.pid);
  const deleting = performance.now();
  for (let i = 0; i < pods; i++) kubelet.withdraw(`pod-${i}.json`);
  await kubelet.until('all pods are gone', () => cgroups() === 0, 120_000);
  const deletedMs = performance.now() - deleting;
  const loopDelayMs = { starting, ending: await endEnding() };
  const figures: Figure[] = [
    { name: 'ready after', value: readyMs, unit: 'ms', target: 1500, calibration: 'loop' },
    { name: 'all running after', value: runningMs, unit: 'ms', target: targets.running, calibration: 'podStart', plain: plain.allStarted },
    { name: 'CPU per pod start', value: startCpuMs, unit: 'ms', target: targets.cpu, calibration: 'loop', plain: plain.cpuPerPod },
    { name: 'idle CPU', value: idlePercent, unit: '% of a core', target: targets.idle, calibration: 'loop' },
    { name: 'all deleted after', value: deletedMs, unit: 'ms', target: targets.deleted, calibration: 'podStart', plain: plain.allRemoved },
    { name: 'resident, empty', value: emptyMiB, unit: 'MiB', target: 75, calibration: null },
    { name: 'resident, loaded', value: loadedMiB, unit: 'MiB', target: 110, calibration: null },
    { name: 'resident, peak', value: memoryMiB(kubelet.pid, 'VmHWM'), unit: 'MiB', target: 120, calibration: null },
  ];
  return { figures, loopDelayMs };
}

async function main(): Promise<void> {
  const skip = skipWithoutContainerd();
  if (skip !== false) {
    console.error(`daemon-containerd: ${skip}`);
    return;
  }
  const chosen = process.argv.slice(2).map(Number);
  for (const load of loads.filter(({ pods }) => chosen.length === 0 || chosen.includes(pods))) {
    const containerd = await PrivateContainerd.start();
    try {
      const { calibration, measured } = await calibrated(containerd, async () => {
        const plain = await plainLoad(containerd, load.pods, 0);
        const kubelet = await KubeletProcess.prepare(containerd, 'node', { maxPods: 250 });
        const delays = await DelayWatch.start(containerd, kubelet);
        try {
          return await measure(containerd, kubelet, load, plain, delays);
        } finally {
          delays.stop();
          await kubelet.stop();
        }
      });
      console.log(printed('daemon-containerd', { pods: load.pods, loopDelayMs: measured.loopDelayMs }, calibration, measured.figures));
    } finally {
      await containerd.stop();
    }
  }
}

await main();
