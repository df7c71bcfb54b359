// The node's statistics: one snapshot of cgroups, runtime and file systems, taken on demand and at most every ten seconds,
// from which the stats summary and the metrics are made.
//
// Invariants: concurrent callers share one snapshot; a snapshot with less detail never serves a request for more.

import { type CpuRates, forgetOldCpuRates, readCpuRate, updateCpuRate } from '../../domain/values/cpu-rates.js';
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { FilesystemNumbers, KnownContainer, NodeSnapshot, Part, RootFilesystem, RuntimeContainerReading } from '../../ports/model/node-measurements.js';
import type { Pod } from '../../ports/model/pod.js';
import type { RuntimeListing } from '../../ports/model/runtime-listing.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { RuntimeStateOperations } from '../../ports/outbound/container-runtime.js';
import type { FilesystemUsage, FilesystemUsageOperations } from '../../ports/outbound/filesystem-usage.js';
import type { CriContainerReading, CriStats } from '../cri/index.js';
import type { NodeSampler, SampledCgroup } from './node-sampler.js';
import type { PodDiskUsage } from './pod-disk-usage.js';

export interface NodeStatsOptions {
  /** null: this host has no cgroups that can be read. */
  readonly sampler: NodeSampler | null;
  readonly runtime: Pick<PortOf<RuntimeStateOperations>, 'listPods'>;
  readonly criStats: Pick<CriStats, 'containers' | 'imageFilesystems'>;
  readonly diskUsage: PodDiskUsage;
  readonly filesystemUsage: PortOf<FilesystemUsageOperations>;
  readonly rootDirectory: string;
  readonly pods: () => readonly Pod[];
  readonly now: () => Micros;
  readonly wall: () => Instant;
  /** How long the runtime is waited for; 30 s when left out. */
  readonly lookMicros?: Micros;
}

/** With what the metrics of single cgroups need besides. */
export interface Snapshot extends NodeSnapshot {
  readonly at: Micros;
  readonly detail: boolean;
  readonly cgroups: readonly SampledCgroup[];
}

/** The minimum age of the kubelet's samples. */
const freshFor: Micros = 10_000_000;
const lookMicros: Micros = 30_000_000;
/** A file system behind a dead network would block forever. */
const filesystemMicros: Micros = 2_000_000;

export class NodeStats {
  private newest: Snapshot | null = null;
  private taking: { readonly detail: boolean; readonly snapshot: Promise<Snapshot> } | null = null;
  private readonly rates: CpuRates = new Map();

  constructor(private readonly options: NodeStatsOptions) {}

  /** A snapshot that begins after this call: its user must see the effects of earlier actions. */
  async snapshotNow(): Promise<Snapshot> {
    await this.taking?.snapshot.catch(() => {});
    this.newest = null;
    return this.snapshot(false);
  }

  /** @param detail for metrics of single cgroups; the summary does with less */
  async snapshot(detail: boolean): Promise<Snapshot> {
    const { newest } = this;
    if (newest !== null && this.options.now() - newest.at < freshFor && (newest.detail || !detail)) return newest;
    if (this.taking !== null) {
      if (this.taking.detail || !detail) return this.taking.snapshot;
      await this.taking.snapshot.catch(() => {});
      return this.snapshot(detail);
    }
    const snapshot = this.take(detail).finally(() => {
      this.taking = null;
    });
    this.taking = { detail, snapshot };
    this.newest = await snapshot;
    return this.newest;
  }

  private async take(detail: boolean): Promise<Snapshot> {
    const { options } = this;
    const call: Call = { signal: AbortSignal.timeout(lookMicros / 1_000), timeoutMicros: lookMicros };
    // A hanging disk affects its own numbers only; a hanging runtime those of pods.
    await within(options.diskUsage.refresh(options.pods()), filesystemMicros, () => undefined);
    const lookedUp = <T>(answer: Promise<T>): Promise<Part<T>> =>
      within(attempt(answer), options.lookMicros ?? lookMicros, () => ({ ok: false, error: 'context deadline exceeded' }));
    const [listing, readings, imageFilesystems] = await Promise.all([
      lookedUp(options.runtime.listPods({ uid: null }, call)),
      lookedUp(options.criStats.containers(call)),
      lookedUp(options.criStats.imageFilesystems(call)),
    ]);
    const now = options.now();
    const time = options.wall();
    const mountpoints = new Set([
      ...(imageFilesystems.ok ? imageFilesystems.value : []).flatMap(({ mountpoint }) => mountpoint ?? []),
      ...(readings.ok ? readings.value : []).flatMap(({ writableLayer }) => writableLayer?.mountpoint ?? []),
    ]);
    const [root, filesystems] = await Promise.all([this.filesystem(options.rootDirectory), this.filesystems(mountpoints)]);
    const known = listing.ok ? knownContainers(listing.value) : new Map<string, KnownContainer>();
    const cgroups = options.sampler === null ? [] : await options.sampler.sample(known, detail);
    const rootFilesystem: Part<RootFilesystem> =
      root === null ? { ok: false, error: 'the file system of the root directory can not be measured' } : { ok: true, value: { time, ...root } };
    return {
      ...{ at: now, time, detail, listing, cgroups, filesystems, imageFilesystems },
      readings: readings.ok ? { ok: true, value: readings.value.map((reading) => this.withRate(reading, now)) } : readings,
      root: rootFilesystem,
      diskUsage: (uid) => options.diskUsage.of(uid),
    };
  }

  /** The runtime reports totals; their rate is over the time since the previous snapshot. */
  private withRate(reading: CriContainerReading, now: Micros): RuntimeContainerReading {
    const { cpu } = reading;
    if (cpu === null) return { ...reading, cpu: null };
    const usage = cpu.usageCoreNanoSeconds;
    const asked = {
      timeNanos: cpu.timeNanos,
      usageCoreNanoSeconds: usage === undefined ? null : BigInt(Math.trunc(usage)),
      usageNanoCores: cpu.usageNanoCores === undefined ? null : BigInt(Math.trunc(cpu.usageNanoCores)),
    };
    const rate = updateCpuRate(this.rates, reading.containerId, asked, now) ?? readCpuRate(this.rates, reading.containerId, asked);
    forgetOldCpuRates(this.rates, now);
    return {
      ...reading,
      cpu: { time: cpu.time, ...(usage === undefined ? {} : { usageCoreNanoSeconds: usage }), ...(rate === null ? {} : { usageNanoCores: rate }) },
    };
  }

  private async filesystems(mountpoints: ReadonlySet<string>): Promise<Readonly<Record<string, FilesystemNumbers>>> {
    const paths = [...mountpoints].slice(0, mountpointsMax);
    const found = await Promise.all(paths.map((path) => this.filesystem(path)));
    return Object.fromEntries(paths.flatMap((path, i) => (found[i] == null ? [] : [[path, found[i]] as const])));
  }

  private async filesystem(path: string): Promise<FilesystemNumbers | null> {
    return filesystemNumbers(this.options.filesystemUsage, path);
  }
}

/** Runtimes have one or two file systems. */
const mountpointsMax = 16;

/** null: unknown, or not in time. */
export async function filesystemNumbers(port: PortOf<FilesystemUsageOperations>, path: string): Promise<FilesystemNumbers | null> {
  const signal = AbortSignal.timeout(filesystemMicros / 1_000);
  const asked: Promise<FilesystemUsage | null> = port.usage({ path }, { signal, timeoutMicros: filesystemMicros }).catch(() => null);
  const usage = await within(asked, filesystemMicros, () => null);
  if (usage === null) return null;
  return {
    device: '',
    availableBytes: Number(usage.availableBytes),
    capacityBytes: Number(usage.capacityBytes),
    usedBytes: Number(usage.capacityBytes - usage.freeBytes),
    // A file system that allocates inodes dynamically reports 0.
    ...(usage.inodes === 0n ? {} : { inodes: Number(usage.inodes), inodesFree: Number(usage.inodesFree) }),
  };
}

function knownContainers(listing: RuntimeListing): Map<string, KnownContainer> {
  const known = new Map<string, KnownContainer>();
  for (const { uid, name, namespace, sandboxes, containers } of listing.pods) {
    const add = (id: string, containerName: string, isSandbox: boolean) => known.set(id, { id, podName: name, podNamespace: namespace, podUid: uid, containerName, isSandbox });
    for (const { id } of sandboxes) add(id, '', true);
    for (const container of containers) add(container.id, container.name, false);
  }
  return known;
}

/** A late value is ignored. */
async function within<T>(value: Promise<T>, micros: Micros, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(late()), micros / 1_000);
  });
  try {
    return await Promise.race([value, end]);
  } finally {
    clearTimeout(timer);
  }
}

async function attempt<T>(value: Promise<T>): Promise<Part<T>> {
  try {
    return { ok: true, value: await value };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
}
