// What benchmarks on a real containerd hold their figures against: two things that never change, measured in the same run, and what the kernel
// says of a process. On a busy host both take longer; a figure divided by how much longer is the `scaled` one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxConfig } from '../src/ports/model/sandbox-config.js';
import type { Call } from '../src/ports/operation.js';
import type { PrivateContainerd } from '../test/containerd/private-containerd.js';
import { criClient } from '../test/ports/cri-harness.js';

const call: Call = { signal: new AbortController().signal, timeoutMicros: null };
const plainStarts = 5;
/** The shortest that either calibration was ever seen to take on the host that the targets were set on: as it is when quiet. Milliseconds. */
const quiet = { loop: 66, podStart: 160 };

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'MiB' | '% of a core' | 'requests a minute';
  readonly target: number | null;
  readonly calibration: 'loop' | 'podStart' | null;
}

export interface Calibration {
  readonly loop: number;
  readonly podStart: number;
}

export async function calibrate(containerd: PrivateContainerd): Promise<Calibration> {
  return { loop: loopMs(), podStart: await plainPodStartMs(containerd) };
}

/** One line of a benchmark. */
export function printed(bench: string, more: object, calibration: Calibration, figures: readonly Figure[]): string {
  const slowness = { loop: calibration.loop / quiet.loop, podStart: calibration.podStart / quiet.podStart };
  const round = (value: number): number => Number(value.toPrecision(3));
  const shown = figures.map(({ name, value, unit, target, calibration: by }) => {
    return { name, unit, value: round(value), scaled: round(by === null ? value : value / slowness[by]), target };
  });
  return JSON.stringify({ bench, ...more, calibrationMs: { loop: round(calibration.loop), podStart: round(calibration.podStart), quiet }, figures: shown });
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
export function memoryMiB(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) / 1024;
}
