// Samples of the node's cgroups, taken when somebody asks: nothing ticks. A rate is of two samples some seconds apart, so what was never
// seen before is looked at twice within one request.
//
// Invariants: one look is under way at a time and all who ask meanwhile get it; samples are kept for cgroups that are there; a rate is never
// of a window shorter than `shortestWindow`, nor of one that reaches further back than `longestWindow`.
import { setTimeout as delay } from 'node:timers/promises';
import { type CgroupCounters, type CgroupReader, type InterfaceCounters, parseNetDev, type ReadCgroup, textOrEmptyNow } from '../../../adapters/linux/index.js';
import { LoopShare } from '../../../adapters/time/index.js';
import type { CgroupReading, CgroupSample } from '../../../domain/stats/cgroup-sample.js';
import { containerIdOfCgroup } from '../../../domain/stats/live-cgroups.js';
import { emptyWindow, type RawCgroupReading, type SampleWindow, sampled } from '../../../domain/stats/sample-window.js';
import type { Micros } from '../../../ports/micros.js';

/** A sandbox or container of the runtime. */
export interface KnownContainer {
  readonly id: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  /** '' for a sandbox. */
  readonly containerName: string;
  readonly isSandbox: boolean;
}

export interface SampledCgroup {
  readonly path: string;
  /** null: the cgroup is of no container. */
  readonly container: KnownContainer | null;
  readonly read: ReadCgroup;
  readonly interfaces: readonly InterfaceCounters[];
  /** For the stats summary. */
  readonly sample: CgroupSample;
}

export interface SamplerOptions {
  readonly reader: CgroupReader;
  /** Cgroups that are read with all below them. */
  readonly trees: readonly string[];
  /** Cgroups that are read alone; the root always is. */
  readonly single: readonly string[];
  readonly now: () => Micros;
  /** Stands before /proc: '' on a host. */
  readonly hostRoot?: string;
  readonly pause?: (millis: number) => Promise<unknown>;
}

/** Between the two looks at what is new. */
const firstWindow: Micros = 250_000;
const shortestWindow: Micros = 5_000_000;
const longestWindow: Micros = 60_000_000;
/** Processes tried until one has a network namespace to read. */
const networkProcessesMax = 3;

/** Cgroups that are gone live on while their files are open: nobody asking for so long means that nobody will soon. */
const restAfterMillis = 120_000;

interface Kept {
  readonly createdAtMillis: number;
  window: SampleWindow;
}

export class NodeSampler {
  private readonly kept = new Map<string, Kept>();
  private resting: NodeJS.Timeout | null = null;

  constructor(private readonly options: SamplerOptions) {}

  /** @param detail all that is known of each cgroup, else what the summary needs */
  async sample(known: ReadonlyMap<string, KnownContainer>, detail: boolean): Promise<readonly SampledCgroup[]> {
    if (this.resting !== null) clearTimeout(this.resting);
    const paths = await this.paths();
    let read = await this.options.reader.read(paths, detail);
    let raws = read.map(rawReading);
    this.take(read, raws);
    if (read.some(({ path }) => this.isRateless(path))) {
      await (this.options.pause ?? delay)(firstWindow / 1_000);
      read = await this.options.reader.read(paths, detail);
      raws = read.map(rawReading);
      this.take(read, raws);
    }
    const found = new Set(read.map(({ path }) => path));
    for (const path of this.kept.keys()) if (!found.has(path)) this.kept.delete(path);
    const share = new LoopShare();
    const sampledCgroups: SampledCgroup[] = [];
    for (const [i, one] of read.entries()) {
      sampledCgroups.push(this.sampledCgroup(one, raws[i] as RawCgroupReading, known));
      await (share.pause() ?? undefined);
    }
    this.resting = setTimeout(() => this.options.reader.rest(), restAfterMillis);
    this.resting.unref();
    return sampledCgroups;
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
      const age = last === null ? 0 : raw.time - last.time;
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

  private sampledCgroup(read: ReadCgroup, raw: RawCgroupReading, known: ReadonlyMap<string, KnownContainer>): SampledCgroup {
    const { path, counters } = read;
    const container = path === '/' ? null : (known.get(containerIdOfCgroup(path)) ?? null);
    const hasNetwork = path === '/' || container?.isSandbox === true;
    const interfaces = hasNetwork ? this.interfaces(path === '/' ? ['self'] : (counters.pids ?? []).slice(0, networkProcessesMax).map(String)) : [];
    const rate = this.kept.get(path)?.window.reading?.cpu?.usageNanoCores ?? null;
    return { path, container, read, interfaces, sample: sampleOf(read, raw, container, interfaces, rate, hasNetwork) };
  }

  private interfaces(pids: readonly string[]): readonly InterfaceCounters[] {
    for (const pid of pids) {
      const text = textOrEmptyNow(`${this.options.hostRoot ?? ''}/proc/${pid}/net/dev`);
      if (text !== '') return parseNetDev(text);
    }
    return [];
  }
}

function sampleOf(
  { counters, createdAtMillis }: ReadCgroup,
  { time, cpu, memory, processCount, diskIo, pressure }: RawCgroupReading,
  container: KnownContainer | null,
  interfaces: readonly InterfaceCounters[],
  rate: number | null,
  hasNetwork: boolean,
): CgroupSample {
  const reading: CgroupReading = {
    time,
    memory,
    processCount,
    diskIo,
    pressure,
    cpu: cpu === null ? null : { usageCoreNanoSeconds: cpu.usageCoreNanoSeconds, usageNanoCores: rate },
    network: interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({ name, rxBytes, rxErrors, txBytes, txErrors })),
  };
  return {
    createdAt: createdAtMillis * 1_000,
    hasCpu: counters.cpu !== null,
    hasMemory: counters.memory !== null,
    hasNetwork,
    hasDiskIo: true,
    memoryLimitBytes: counters.limits.memoryBytes,
    swapLimitBytes: counters.limits.swapBytes,
    labels: container === null ? {} : labelsOf(container),
    reading,
  };
}

function labelsOf({ podName, podNamespace, podUid, containerName }: KnownContainer): Readonly<Record<string, string>> {
  return {
    'io.kubernetes.pod.name': podName,
    'io.kubernetes.pod.namespace': podNamespace,
    'io.kubernetes.pod.uid': podUid,
    ...(containerName === '' ? {} : { 'io.kubernetes.container.name': containerName }),
  };
}

function rawReading({ readAtMillis, counters }: ReadCgroup): RawCgroupReading {
  const { cpu, memory, pids, pressure } = counters;
  return {
    time: readAtMillis * 1_000,
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
