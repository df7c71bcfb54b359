// The stats summary and the resource metrics of a snapshot.

import { stat } from 'node:fs/promises';
import type { NodeResources, ResourceContainer, ResourceNumbers, ResourcePod } from '../../../adapters/metrics/index.js';
import { LoopShare } from '../../../adapters/time/index.js';
import type { CgroupSample } from '../../../domain/stats/cgroup-sample.js';
import { liveCgroups, podCgroupKey, podCgroups } from '../../../domain/stats/live-cgroups.js';
import { measuredNumbers } from '../../../domain/stats/measured-numbers.js';
import { type MeasuredSummary, type MissingPart, measuredCpuAndMemory, measuredSummary } from '../../../domain/stats/measured-summary.js';
import type { Part, SummaryFacts } from '../../../domain/stats/node-summary.js';
import { eachPodCpuAndMemoryStats, eachPodStats, type StatsContainer } from '../../../domain/stats/pod-stats.js';
import { epochMicros, instantOf } from '../../../domain/values/instant.js';
import type { Instant } from '../../../ports/instant.js';
import type { ContainerStats, PodStats, StatsSummary } from '../../../ports/model/stats-summary.js';
import type { NodeStatsReading } from '../../../ports/outbound/node-stats.js';
import { PortError } from '../../../ports/port-error.js';
import type { NodeStats, Snapshot } from './node-stats.js';

export interface ProcessCounts {
  readonly maxPid: number;
  readonly processes: number;
}

export interface SummaryAnswersOptions {
  readonly stats: NodeStats;
  readonly nodeName: string;
  readonly bootedAt: Instant;
  /** null: unknown. */
  readonly processCounts: () => Promise<ProcessCounts | null>;
  /** What an answer lacks, and why. */
  readonly onMissing: (missing: MissingPart) => void;
}

/** For others: without the parts that could not be read. */
export async function summaryOf(options: SummaryAnswersOptions, onlyCpuAndMemory: boolean): Promise<Part<StatsSummary>> {
  const found = await summaryFrom(await options.stats.snapshot(false), options, onlyCpuAndMemory);
  if (!found.ok) return found;
  for (const missing of found.value.missing) options.onMissing(missing);
  return { ok: true, value: found.value.summary };
}

/**
 * A fresh measurement for the agent's own decisions, without the parts that could not be read: each signal stands for itself.
 * @throws if the runtime could not list its pods: without it no pod can be judged or ended
 */
export async function nodeStatsReading(options: SummaryAnswersOptions, rootDirectory: string): Promise<NodeStatsReading> {
  const snapshot = await options.stats.snapshotNow();
  const [summary, dedicatedImageFs] = await Promise.all([summaryFrom(snapshot, options, false), isOtherDevice(rootDirectory, snapshot.imageFsMountpoint)]);
  const refuse = (message: string) => new PortError({ kind: 'unavailable', operation: 'nodeStats.summary', subject: '', message });
  if (!summary.ok) throw refuse(summary.error);
  for (const missing of summary.value.missing) options.onMissing(missing);
  return { summary: summary.value.summary, dedicatedImageFs };
}

/** A path that doesn't exist on this host belongs to the runtime. null: unknown. */
async function isOtherDevice(rootDirectory: string, mountpoint: string | null): Promise<boolean | null> {
  if (mountpoint === null) return null;
  try {
    const [root, images] = await Promise.all([stat(rootDirectory), stat(mountpoint)]);
    return root.dev !== images.dev;
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' && path === mountpoint ? true : null;
  }
}

async function summaryFrom(snapshot: Snapshot, { stats, nodeName, bootedAt, processCounts }: SummaryAnswersOptions, onlyCpuAndMemory: boolean): Promise<Part<MeasuredSummary>> {
  const pods: Part<readonly PodStats[]> =
    snapshot.podsError === null
      ? {
          ok: true,
          value: await inShares(
            onlyCpuAndMemory ? eachPodCpuAndMemoryStats(snapshot.facts, snapshot.time, measuredNumbers) : eachPodStats(snapshot.facts, snapshot.time, measuredNumbers),
          ),
        }
      : { ok: false, error: snapshot.podsError };
  const facts: SummaryFacts = {
    nodeName: { ok: true, value: nodeName },
    rootCgroup: snapshot.rootCgroup.ok ? { ok: true, value: stats.rootSample(snapshot.rootCgroup.value) } : snapshot.rootCgroup,
    bootedAt,
    systemContainers: stats.systemContainers(snapshot),
    pods,
  };
  if (onlyCpuAndMemory) return measuredCpuAndMemory(facts);
  const counts = await processCounts();
  return measuredSummary({
    ...facts,
    root: snapshot.root,
    imageFs: snapshot.imageFs,
    rlimit: counts === null ? { ok: false, error: '/proc does not tell how many processes there are' } : { ok: true, value: { time: snapshot.time, ...counts } },
  });
}

export async function resourcesOf(stats: NodeStats): Promise<NodeResources> {
  let snapshot: Snapshot;
  try {
    snapshot = await stats.snapshot(false);
  } catch {
    return { node: null, pods: [], failed: true };
  }
  const { facts, rootCgroup, time } = snapshot;
  const node = rootCgroup.ok ? numbersOf(podLike(stats.rootSample(rootCgroup.value)), millisOf(rootCgroup.value.sample, time)) : null;
  const ofPods = podCgroups(facts.cgroups);
  const live = liveCgroups(facts.cgroups);
  const uids = new Map(facts.sandboxes.map(({ id, uid }) => [id, uid]));
  // Of restarted containers the running one counts.
  const running = new Map<string, StatsContainer>();
  for (const container of facts.containers) if (container.isRunning) running.set(`${uids.get(container.sandboxId)}/${container.name}`, container);
  const pods = snapshot.podsError === null ? await inShares(eachPodCpuAndMemoryStats(facts, time, measuredNumbers)) : [];
  return {
    node,
    failed: snapshot.podsError !== null || !rootCgroup.ok,
    pods: pods.map((pod): ResourcePod => {
      const { name, namespace, uid } = pod.podRef;
      const containers = (pod.containers ?? []).map((container): ResourceContainer => {
        const found = running.get(`${uid}/${container.name}`);
        return { name: container.name, startedAtSeconds: epochMicros(found?.createdAt ?? instantOf(0)) / 1e6, ...numbersOf(container, millisOf(live.get(found?.id ?? ''), time)) };
      });
      return { name, namespace, containers, ...numbersOf(pod, millisOf(ofPods.get(podCgroupKey(uid)), time)) };
    }),
  };
}

async function inShares(pods: Iterable<PodStats>): Promise<readonly PodStats[]> {
  const share = new LoopShare();
  const all: PodStats[] = [];
  for (const pod of pods) {
    all.push(pod);
    await (share.pause() ?? undefined);
  }
  return all;
}

/** The time of the cgroup's reading; without a cgroup the numbers are the runtime's, from the time of the snapshot. */
function millisOf(sample: CgroupSample | undefined, time: Instant): number {
  return Math.floor(epochMicros(sample?.reading?.time ?? time) / 1_000);
}

function podLike({ reading }: CgroupSample): Pick<ContainerStats, 'cpu' | 'memory' | 'swap'> {
  if (reading === null) return {};
  const { cpu, memory } = reading;
  return {
    ...(cpu === null ? {} : { cpu: { usageCoreNanoSeconds: cpu.usageCoreNanoSeconds } }),
    ...(memory === null ? {} : { memory: { workingSetBytes: memory.workingSetBytes }, swap: { swapUsageBytes: memory.swapBytes } }),
  };
}

function numbersOf({ cpu, memory, swap }: Pick<ContainerStats, 'cpu' | 'memory' | 'swap'>, atMillis: number): ResourceNumbers {
  return {
    cpu: cpu?.usageCoreNanoSeconds === undefined ? null : { atMillis, usageCoreNanoSeconds: cpu.usageCoreNanoSeconds },
    memory: memory?.workingSetBytes === undefined ? null : { atMillis, workingSetBytes: memory.workingSetBytes },
    swap: swap?.swapUsageBytes === undefined ? null : { atMillis, usageBytes: swap.swapUsageBytes, availableBytes: swap.swapAvailableBytes ?? null },
  };
}
