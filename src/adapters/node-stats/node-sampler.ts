// Samples of the node's cgroups, taken on demand: no timer runs. A rate needs two samples some seconds apart, so
// a new cgroup is sampled twice within one request.
//
// Invariants: one sampling runs at a time and concurrent callers share it; samples are kept for existing cgroups; a rate's
// window is never shorter than `shortestWindow`, and never reaches further back than `longestWindow`.

import { setTimeout as delay } from 'node:timers/promises';
import { containerIdOfCgroup } from '../../domain/values/container-cgroup.js';
import { instantOf } from '../../domain/values/instant.js';
import { emptyWindow, type RawCgroupReading, type SampleWindow, sampled } from '../../domain/values/sample-window.js';
import type { Micros } from '../../ports/micros.js';
import type { CgroupReading, CgroupSample } from '../../ports/model/cgroup-sample.js';
import type { KnownContainer } from '../../ports/model/node-measurements.js';
import type { CgroupCounters, CgroupDetail, CgroupReader, InterfaceCounters, OpenFiles, ProcessReader, ReadCgroup } from '../linux/index.js';
import { LoopShare } from '../time/index.js';

export interface SampledCgroup {
  readonly path: string;
  /** null: the cgroup is of no container. */
  readonly container: KnownContainer | null;
  readonly read: ReadCgroup;
  readonly interfaces: readonly InterfaceCounters[];
  /** Open files of a container's processes, with all detail; null: not read. */
  readonly openFiles: OpenFiles | null;
  /** For the stats summary. */
  readonly sample: CgroupSample;
}

export interface SamplerOptions {
  readonly reader: CgroupReader;
  readonly processes: ProcessReader;
  /** Cgroups that are read with all below them. */
  readonly trees: readonly string[];
  /** Cgroups that are read alone; the root always is. */
  readonly single: readonly string[];
  readonly now: () => Micros;
  readonly pause?: (millis: number) => Promise<unknown>;
}

/** Between the two samples of a new cgroup. */
const firstWindow: Micros = 250_000;
const shortestWindow: Micros = 5_000_000;
const longestWindow: Micros = 60_000_000;
/** Processes tried until one has a network namespace to read. */
const networkProcessesMax = 3;

/** Open files keep removed cgroups alive: after this long without a request they are closed. */
const restAfterMillis = 120_000;

interface Kept {
  readonly createdAtMillis: number;
  window: SampleWindow;
}

export class NodeSampler {
  private readonly kept = new Map<string, Kept>();
  private resting: NodeJS.Timeout | null = null;

  constructor(private readonly options: SamplerOptions) {}

  /** @param detail reads everything about each cgroup, otherwise what the summary needs */
  async sample(known: ReadonlyMap<string, KnownContainer>, detail: boolean): Promise<readonly SampledCgroup[]> {
    if (this.resting !== null) clearTimeout(this.resting);
    const paths = await this.paths();
    const detailOf = (path: string): CgroupDetail => (detail ? 'all' : neededOf(path, known));
    let read = await this.options.reader.read(paths, detailOf);
    let raws = read.map(rawReading);
    this.take(read, raws);
    if (read.some(({ path }) => this.isRateless(path))) {
      await (this.options.pause ?? delay)(firstWindow / 1_000);
      read = await this.options.reader.read(paths, detailOf);
      raws = read.map(rawReading);
      this.take(read, raws);
    }
    const found = new Set(read.map(({ path }) => path));
    for (const path of this.kept.keys()) if (!found.has(path)) this.kept.delete(path);
    const sampledCgroups = await this.sampled(read, raws, known, detail);
    this.resting = setTimeout(() => this.options.reader.rest(), restAfterMillis);
    this.resting.unref();
    return sampledCgroups;
  }

  private async sampled(
    read: readonly ReadCgroup[],
    raws: readonly RawCgroupReading[],
    known: ReadonlyMap<string, KnownContainer>,
    detail: boolean,
  ): Promise<readonly SampledCgroup[]> {
    const containers = read.map(({ path }) => containerOf(path, known));
    const [interfaces, openFiles] = await Promise.all([
      this.interfaces(read, containers),
      // Of containers only: other cgroups' processes aren't the kubelet's, and the root has too many.
      detail ? this.options.processes.openFiles(read.map(({ counters }, i) => (containers[i] === null ? [] : (counters.pids ?? [])))) : [],
    ]);
    const silent = detail ? noSilent : await this.readSilent(read, containers, interfaces);
    const share = new LoopShare();
    const sampledCgroups: SampledCgroup[] = [];
    for (const [i, one] of read.entries()) {
      const container = containers[i] ?? null;
      const rate = this.kept.get(one.path)?.window.reading?.cpu?.usageNanoCores ?? null;
      const hasNetwork = one.path === '/' || container?.isSandbox === true;
      const raw = silent.get(one.path) ?? (raws[i] as RawCgroupReading);
      const sample = sampleOf(one, raw, container, interfaces[i] ?? [], rate, hasNetwork);
      sampledCgroups.push({ path: one.path, container, read: one, interfaces: interfaces[i] ?? [], openFiles: container === null ? null : (openFiles[i] ?? null), sample });
      await (share.pause() ?? undefined);
    }
    return sampledCgroups;
  }

  /** For a sandbox without network counters, reads its memory: that shows whether it has processes. */
  private async readSilent(
    read: readonly ReadCgroup[],
    containers: readonly (KnownContainer | null)[],
    interfaces: readonly (readonly InterfaceCounters[])[],
  ): Promise<ReadonlyMap<string, RawCgroupReading>> {
    const silent = read.flatMap(({ path }, i) => (containers[i]?.isSandbox === true && !(interfaces[i] ?? []).some(hasTraffic) ? [path] : []));
    if (silent.length === 0) return noSilent;
    const again = await this.options.reader.readKnown(silent, () => 'use-and-processes');
    return new Map(again.map((one) => [one.path, rawReading(one)]));
  }

  close(): void {
    if (this.resting !== null) clearTimeout(this.resting);
  }

  private async paths(): Promise<readonly string[]> {
    const walked = await Promise.all(this.options.trees.map((tree) => this.options.reader.walk(tree)));
    return [...new Set(['/', ...this.options.single, ...walked.flat()])];
  }

  private isRateless(path: string): boolean {
    const reading = this.kept.get(path)?.window.reading;
    return reading?.cpu != null && reading.cpu.usageNanoCores === null;
  }

  private take(read: readonly ReadCgroup[], raws: readonly RawCgroupReading[]): void {
    for (const [i, one] of read.entries()) {
      const kept = this.keptOf(one);
      const raw = raws[i] as RawCgroupReading;
      const last = kept.window.reading;
      const age = last === null ? 0 : raw.at - last.at;
      if (last === null || age > longestWindow) kept.window = sampled(emptyWindow, raw);
      else if (age >= shortestWindow || (last.cpu !== null && last.cpu.usageNanoCores === null)) kept.window = sampled(kept.window, raw);
    }
  }

  private keptOf({ path, createdAtMillis }: ReadCgroup): Kept {
    const known = this.kept.get(path);
    if (known !== undefined && known.createdAtMillis === createdAtMillis) return known;
    const fresh = { createdAtMillis, window: emptyWindow };
    this.kept.set(path, fresh);
    return fresh;
  }

  /** The interfaces of the node and of each sandbox, from the first living process; empty for all others. */
  private async interfaces(read: readonly ReadCgroup[], containers: readonly (KnownContainer | null)[]): Promise<readonly (readonly InterfaceCounters[])[]> {
    const found: (readonly InterfaceCounters[])[] = read.map(() => []);
    const candidates = read.map(({ path, counters }, i): readonly (number | 'self')[] => {
      if (path === '/') return ['self'];
      return containers[i]?.isSandbox === true ? (counters.pids ?? []).slice(0, networkProcessesMax) : [];
    });
    let open = candidates.flatMap((pids, i) => (pids.length === 0 ? [] : [i]));
    for (let nth = 0; open.length > 0 && nth < networkProcessesMax; nth++) {
      const asked = await this.options.processes.interfaces(open.map((i) => candidates[i]?.[nth] ?? 0));
      const missed: number[] = [];
      for (const [at, i] of open.entries()) {
        const interfaces = asked[at] ?? null;
        if (interfaces !== null) found[i] = interfaces;
        else if ((candidates[i]?.length ?? 0) > nth + 1) missed.push(i);
      }
      open = missed;
    }
    return found;
  }
}

const noSilent: ReadonlyMap<string, RawCgroupReading> = new Map();

function containerOf(path: string, known: ReadonlyMap<string, KnownContainer>): KnownContainer | null {
  return path === '/' ? null : (known.get(containerIdOfCgroup(path)) ?? null);
}

/** What the summary needs: of a container everything, of its pod the usage, of a sandbox its processes' network. */
function neededOf(path: string, known: ReadonlyMap<string, KnownContainer>): CgroupDetail {
  const container = containerOf(path, known);
  if (container === null) return 'use';
  return container.isSandbox ? 'processes' : 'use-and-processes';
}

function hasTraffic({ rxBytes, rxErrors, txBytes, txErrors }: InterfaceCounters): boolean {
  return rxBytes !== 0 || rxErrors !== 0 || txBytes !== 0 || txErrors !== 0;
}

function sampleOf(
  { counters, createdAtMillis }: ReadCgroup,
  { time, at, cpu, memory, processCount, diskIo, pressure }: RawCgroupReading,
  container: KnownContainer | null,
  interfaces: readonly InterfaceCounters[],
  rate: number | null,
  hasNetwork: boolean,
): CgroupSample {
  const reading: CgroupReading = {
    time,
    at,
    memory,
    processCount,
    diskIo,
    pressure,
    cpu: cpu === null ? null : { usageCoreNanoSeconds: cpu.usageCoreNanoSeconds, usageNanoCores: rate },
    network: interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({ name, rxBytes, rxErrors, txBytes, txErrors })),
  };
  return {
    createdAt: instantOf(createdAtMillis * 1_000),
    hasCpu: cpu !== null,
    hasMemory: memory !== null,
    hasNetwork,
    hasDiskIo: true,
    memoryLimitBytes: counters.limits.memoryBytes,
    swapLimitBytes: counters.limits.swapBytes,
    labels: container === null ? noLabels : labelsOf(container),
    reading,
  };
}

const noLabels: Readonly<Record<string, string>> = {};

function labelsOf({ podName, podNamespace, podUid, containerName }: KnownContainer): Readonly<Record<string, string>> {
  const ofPod = { 'io.kubernetes.pod.name': podName, 'io.kubernetes.pod.namespace': podNamespace, 'io.kubernetes.pod.uid': podUid };
  return containerName === '' ? ofPod : { 'io.kubernetes.container.name': containerName, ...ofPod };
}

function rawReading({ readAtMillis, readAt, counters }: ReadCgroup): RawCgroupReading {
  const { cpu, memory, pids, pressure } = counters;
  return {
    time: instantOf(readAtMillis * 1_000),
    at: readAt,
    cpu: cpu === null ? null : { usageCoreNanoSeconds: cpu.usageNanos },
    memory: memory === null ? null : memorySample(memory),
    network: [],
    processCount: pids?.length ?? null,
    diskIo: true,
    pressure,
  };
}

function memorySample(memory: NonNullable<CgroupCounters['memory']>): NonNullable<CgroupReading['memory']> {
  const { usageBytes, workingSetBytes, rssBytes, swapBytes, pageFaults, majorPageFaults } = memory;
  return { usageBytes, workingSetBytes, rssBytes, swapBytes, pageFaults, majorPageFaults };
}
