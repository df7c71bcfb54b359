// Calibration of the daemon's benchmarks: two constant loads, measured in the same run. On a busy host both take
// longer; a figure divided by their slowdown is the `scaled` one.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxConfig } from '../src/ports/model/sandbox-config.js';
import type { Call } from '../src/ports/operation.js';
import { PrivateContainerd, skipWithoutContainerd } from '../test/containerd/private-containerd.js';
import { criClient } from '../test/ports/cri-harness.js';
import { round } from './stage/process-cost.js';

const call: Call = { signal: new AbortController().signal, timeoutMicros: null };
const plainStarts = 5;
/** The shortest that either calibration was ever seen to take on the host that the targets were set on: as it is when quiet. Milliseconds. */
export const quiet = { loop: 66, podStart: 160 };

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'MiB' | '% of a core';
  readonly target: number | null;
  readonly calibration: 'loop' | 'podStart' | null;
  /** The same without a kubelet, measured in the same run. */
  readonly plain?: number;
}

export interface Calibration {
  readonly loop: number;
  readonly podStart: number;
}

async function calibrate(containerd: PrivateContainerd): Promise<Calibration> {
  return { loop: loopMs(), podStart: await plainPodStartMs(containerd) };
}

/** Measures between two calibrations, and compares with their mean: a shared host changes its speed within a minute. */
export async function calibrated<T>(containerd: PrivateContainerd, measure: () => Promise<T>): Promise<{ readonly calibration: Calibration; readonly measured: T }> {
  const before = await calibrate(containerd);
  const measured = await measure();
  const after = await calibrate(containerd);
  return { calibration: { loop: (before.loop + after.loop) / 2, podStart: (before.podStart + after.podStart) / 2 }, measured };
}

/** The calibration of a run without a container of its own. */
export interface Machine {
  /** Milliseconds; null: containerd can't run here. */
  readonly calibrationMs: { readonly loop: number; readonly podStart: number | null; readonly quiet: Calibration };
  /** How much longer the loop takes than on a quiet machine. */
  readonly slowness: number;
}

/** Both figures, of a containerd that is started for them alone. */
export async function calibrateHere(): Promise<Machine> {
  const loop = loopMs();
  return { calibrationMs: { loop: round(loop), podStart: await podStartHere(), quiet }, slowness: loop / quiet.loop };
}

async function podStartHere(): Promise<number | null> {
  if (skipWithoutContainerd() !== false) return null;
  const containerd = await PrivateContainerd.start();
  try {
    return round(await plainPodStartMs(containerd));
  } finally {
    await containerd.stop();
  }
}

/** One line of a benchmark. */
export function printed(bench: string, more: object, calibration: Calibration, figures: readonly Figure[]): string {
  const slowness = { loop: calibration.loop / quiet.loop, podStart: calibration.podStart / quiet.podStart };
  const shown = figures.map(({ name, value, unit, target, calibration: by, plain }) => {
    const beside = plain === undefined ? {} : { plain: round(plain), ratio: round(value / plain) };
    return { name, unit, value: round(value), scaled: round(by === null ? value : value / slowness[by]), target, ...beside };
  });
  return JSON.stringify({ bench, ...more, calibrationMs: { loop: round(calibration.loop), podStart: round(calibration.podStart), quiet }, figures: shown });
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Processor milliseconds of a fixed piece of work of the daemon's kind: objects to text and back, looked up and copied. */
export function loopMs(): number {
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

/** Milliseconds from the request for a sandbox to its started container, one pod after the other. */
async function plainPodStartMs(containerd: PrivateContainerd): Promise<number> {
  const plain = new PlainPods(containerd);
  const times: number[] = [];
  for (let i = 0; i < plainStarts; i++) {
    const pod = await plain.start(i);
    times.push(pod.tookMs);
    await plain.remove(pod);
  }
  plain.close();
  return median(times);
}

interface PlainPod {
  readonly sandboxId: string;
  readonly tookMs: number;
}

/** Pods by plain calls of the runtime's interface, as no kubelet can have them cheaper. */
class PlainPods {
  private readonly client: ReturnType<typeof criClient>;

  constructor(private readonly containerd: PrivateContainerd) {
    this.client = criClient(containerd.endpoint);
  }

  async start(i: number): Promise<PlainPod> {
    const { ports } = this.client;
    const metadata = { name: `plain-${i}`, namespace: 'default', uid: `plain-${i}`, attempt: 0 };
    const config: SandboxConfig = {
      metadata,
      logDirectory: join(this.containerd.directory, 'plain'),
      labels: {},
      annotations: {},
      linux: { cgroupParent: join(this.containerd.cgroupRoot, 'plain') },
    };
    const start = performance.now();
    const { sandboxId } = await ports.sandboxes.run({ config, runtimeHandler: '' }, call);
    const container = { metadata: { name: 'main', attempt: 0 }, image: { image: this.containerd.images.pause }, labels: {}, annotations: {}, logPath: `${i}.log` };
    const { containerId } = await ports.containers.create({ sandboxId, config: container, sandboxConfig: config }, call);
    await ports.containers.start({ containerId }, call);
    return { sandboxId, tookMs: performance.now() - start };
  }

  async remove({ sandboxId }: PlainPod): Promise<void> {
    await this.client.ports.sandboxes.stop({ sandboxId }, call);
    await this.client.ports.sandboxes.remove({ sandboxId }, call);
  }

  close(): void {
    this.client.connection.close();
  }
}

/** What the same pods take without any kubelet: the least that there is to compare with. Milliseconds. */
export interface PlainLoad {
  readonly allStarted: number;
  readonly medianStart: number;
  readonly cpuPerPod: number;
  readonly allRemoved: number;
}

/** @param everyMs between two of them; 0: all at once */
export async function plainLoad(containerd: PrivateContainerd, pods: number, everyMs: number): Promise<PlainLoad> {
  const plain = new PlainPods(containerd);
  const began = { at: performance.now(), cpu: process.cpuUsage() };
  const starts: Promise<PlainPod>[] = [];
  for (let i = 0; i < pods; i++) {
    starts.push(plain.start(i));
    if (everyMs > 0) await delay(Math.max(0, began.at + (i + 1) * everyMs - performance.now()));
  }
  const started = await Promise.all(starts);
  const allStarted = performance.now() - began.at;
  const { user, system } = process.cpuUsage(began.cpu);
  const removing = performance.now();
  await Promise.all(started.map((pod) => plain.remove(pod)));
  const allRemoved = performance.now() - removing;
  plain.close();
  return { allStarted, medianStart: median(started.map(({ tookMs }) => tookMs)), cpuPerPod: (user + system) / 1000 / pods, allRemoved };
}
