// The stats summary: one cgroup, all pods, CPU rates, the image file system, and container ids of cgroups.

import { cgroupNetwork, cgroupProcesses, namedCgroupStats } from '../../../src/domain/stats/cgroup-stats.js';
import { imageFsDevice, imageFsStats } from '../../../src/domain/stats/filesystem-stats.js';
import { podCpuAndMemoryStats, podStats } from '../../../src/domain/stats/pod-stats.js';
import { containerIdOfCgroup } from '../../../src/domain/values/container-cgroup.js';
import { type CpuRates, readCpuRate, updateCpuRate } from '../../../src/domain/values/cpu-rates.js';
import { epochMicros, instantOf } from '../../../src/domain/values/instant.js';
import { formatRfc3339, parseRfc3339 } from '../../../src/domain/values/time.js';
import type { Instant } from '../../../src/ports/instant.js';
import type { CgroupSample } from '../../../src/ports/model/cgroup-sample.js';
import type { FilesystemNumbers, ImageFilesystem, RootFilesystem, RuntimeContainerReading, Used } from '../../../src/ports/model/node-measurements.js';
import type { InterfaceStats, PsiStats, VolumeStats } from '../../../src/ports/model/stats-summary.js';
import type { VectorDriver } from '../driver.js';

type At<T> = Omit<T, 'time'> & { readonly time: string };
interface SampleInput {
  readonly createdAt: string;
  readonly hasCPU?: boolean;
  readonly hasMemory?: boolean;
  readonly hasNetwork?: boolean;
  readonly hasDiskIO?: boolean;
  readonly memoryLimitBytes?: number | bigint;
  readonly swapLimitBytes?: number | bigint;
  readonly labels?: Readonly<Record<string, string>>;
  readonly sample?: {
    readonly time: string;
    readonly cpu?: { readonly usageCoreNanoSeconds: number; readonly usageNanoCores?: number };
    readonly memory?: NonNullable<NonNullable<CgroupSample['reading']>['memory']>;
    readonly network?: readonly Required<InterfaceStats>[];
    readonly processCount?: number;
    readonly diskIO?: boolean;
    readonly pressure?: boolean;
  };
}
interface ReadingInput {
  readonly containerID: string;
  readonly cpu?: At<NonNullable<RuntimeContainerReading['cpu']>>;
  readonly memory?: At<NonNullable<RuntimeContainerReading['memory']>>;
  readonly swap?: At<NonNullable<RuntimeContainerReading['swap']>>;
  readonly writableLayer?: At<Omit<NonNullable<RuntimeContainerReading['writableLayer']>, 'mountpoint'>> & { readonly mountpoint?: string };
}
interface Pods {
  readonly kind: 'pods';
  readonly rootFs: At<RootFilesystem>;
  readonly filesystems?: Readonly<Record<string, FilesystemNumbers>>;
  readonly sandboxes?: readonly {
    readonly id: string;
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly createdAt: string;
    readonly ready?: boolean;
  }[];
  readonly containers?: readonly { readonly id: string; readonly name: string; readonly sandboxID: string; readonly createdAt: string; readonly running?: boolean }[];
  readonly criContainerStats?: readonly ReadingInput[];
  readonly cgroups?: Readonly<Record<string, SampleInput>>;
  readonly containerLogs?: Readonly<Record<string, Used>>;
  readonly podLogs?: Readonly<Record<string, Used>>;
  readonly etcHosts?: Readonly<Record<string, Used>>;
  readonly ephemeralVolumes?: Readonly<Record<string, readonly VolumeStats[]>>;
  readonly persistentVolumes?: Readonly<Record<string, readonly VolumeStats[]>>;
}
type Other =
  | { readonly kind: 'cgroup'; readonly name: string; readonly cgroup: SampleInput }
  | { readonly kind: 'containerIDOfCgroup'; readonly path: string }
  | {
      readonly kind: 'nanoCores';
      readonly steps: readonly {
        readonly containerID: string;
        readonly update: boolean;
        readonly timeNanos?: number | bigint;
        readonly usageCoreNanoSeconds?: number | bigint;
        readonly usageNanoCores?: number;
      }[];
    }
  | {
      readonly kind: 'imageFs';
      readonly rootFs: FilesystemNumbers;
      readonly filesystems?: Readonly<Record<string, FilesystemNumbers>>;
      readonly imageFilesystems?: readonly (At<Omit<ImageFilesystem, 'mountpoint'>> & { readonly mountpoint?: string })[];
    };

/** A time that no case has. */
const now = parseRfc3339('2100-01-01T00:00:00Z') ?? instantOf(0);
const big = (value: number | bigint | undefined): bigint | null => (value === undefined ? null : BigInt(value));
const micros = (time: string): number => epochMicros(parseRfc3339(time) ?? instantOf(Number.NaN));

function pressureOf(n: number): PsiStats {
  return { full: { total: n, avg10: 0.5, avg60: 0.25, avg300: 0.125 }, some: { total: 2 * n, avg10: 1.5, avg60: 1.25, avg300: 1 } };
}

function sampleOf(input: SampleInput): CgroupSample {
  const { sample } = input;
  const cpu = sample?.cpu;
  return {
    createdAt: instantOf(micros(input.createdAt)),
    ...{ hasCpu: input.hasCPU === true, hasMemory: input.hasMemory === true, hasNetwork: input.hasNetwork === true, hasDiskIo: input.hasDiskIO === true },
    ...{ memoryLimitBytes: big(input.memoryLimitBytes), swapLimitBytes: big(input.swapLimitBytes), labels: input.labels ?? {} },
    reading:
      sample === undefined
        ? null
        : {
            time: instantOf(micros(sample.time)),
            at: micros(sample.time),
            cpu: cpu === undefined ? null : { usageCoreNanoSeconds: cpu.usageCoreNanoSeconds, usageNanoCores: cpu.usageNanoCores ?? null },
            ...{ memory: sample.memory ?? null, network: sample.network ?? [], processCount: sample.processCount ?? null, diskIo: sample.diskIO === true },
            pressure: sample.pressure === true ? { cpu: pressureOf(10), memory: pressureOf(20), io: pressureOf(30) } : null,
          },
  };
}

function timed<Part extends { readonly time: string }>(part: Part | undefined): (Omit<Part, 'time'> & { readonly time: Instant }) | null {
  return part === undefined ? null : { ...part, time: instantOf(micros(part.time)) };
}

function pods(input: Pods): unknown {
  const of = <Value>(table: Readonly<Record<string, Value>> | undefined, key: string): Value | null => table?.[key] ?? null;
  const facts = {
    sandboxes: (input.sandboxes ?? []).map(({ ready, createdAt, ...sandbox }) => ({ ...sandbox, createdAt: instantOf(micros(createdAt)), isReady: ready === true })),
    containers: (input.containers ?? []).map(({ running, sandboxID, createdAt, ...rest }) => ({
      ...rest,
      sandboxId: sandboxID,
      createdAt: instantOf(micros(createdAt)),
      isRunning: running === true,
    })),
    readings: (input.criContainerStats ?? []).map(({ containerID, cpu, memory, swap, writableLayer }) => {
      const layer = timed(writableLayer);
      return {
        containerId: containerID,
        cpu: timed(cpu),
        memory: timed(memory),
        swap: timed(swap),
        writableLayer: layer === null ? null : { ...layer, mountpoint: layer.mountpoint ?? null },
      };
    }),
    cgroups: Object.fromEntries(Object.entries(input.cgroups ?? {}).map(([path, sample]) => [path, sampleOf(sample)])),
    root: { ...input.rootFs, time: instantOf(micros(input.rootFs.time)) },
    filesystems: input.filesystems ?? {},
    containerLogs: (uid: string, name: string) => of(input.containerLogs, `${uid}/${name}`),
    podLogs: (uid: string) => of(input.podLogs, uid),
    etcHosts: (uid: string) => of(input.etcHosts, uid),
    ephemeralVolumes: (uid: string) => of(input.ephemeralVolumes, uid) ?? [],
    persistentVolumes: (uid: string) => of(input.persistentVolumes, uid) ?? [],
  };
  const answer = JSON.stringify({ pods: podStats(facts, now), podsCPUAndMemoryOnly: podCpuAndMemoryStats(facts, now) });
  return JSON.parse(answer.replaceAll(JSON.stringify(formatRfc3339(now)), '"<now>"'));
}

function other(input: Other): unknown {
  switch (input.kind) {
    case 'cgroup': {
      const sample = sampleOf(input.cgroup);
      return { stats: namedCgroupStats(input.name, sample), network: cgroupNetwork(sample), process: cgroupProcesses(sample) };
    }
    case 'containerIDOfCgroup':
      return { id: containerIdOfCgroup(input.path) };
    case 'nanoCores': {
      const rates: CpuRates = new Map();
      const usageNanoCores = input.steps.map((step) => {
        const reading = { timeNanos: BigInt(step.timeNanos ?? 0), usageCoreNanoSeconds: big(step.usageCoreNanoSeconds), usageNanoCores: big(step.usageNanoCores) };
        return step.update ? updateCpuRate(rates, step.containerID, reading, epochMicros(now)) : readCpuRate(rates, step.containerID, reading);
      });
      return { usageNanoCores };
    }
    case 'imageFs': {
      const reported = (input.imageFilesystems ?? []).map(({ time, mountpoint, ...rest }) => ({ ...rest, time: instantOf(micros(time)), mountpoint: mountpoint ?? null }));
      const stats = imageFsStats(reported, input.filesystems ?? {});
      const device = imageFsDevice(reported, input.filesystems ?? {}, input.rootFs.device);
      return {
        ...(stats.ok ? { imageFs: stats.stats, containerFs: stats.stats } : { error: stats.error }),
        ...(device.ok ? { device: device.device, dedicatedImageFs: device.isDedicated } : { deviceError: device.error, dedicatedError: device.error }),
      };
    }
  }
}

export const driver: VectorDriver = {
  exactIntegers: true,
  run(input: Pods | Other) {
    return input.kind === 'pods' ? pods(input) : other(input);
  },
};
