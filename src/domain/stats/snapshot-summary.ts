// The stats summary of a snapshot, pod by pod.
// Invariant: between two pods it yields, so that its caller can give other work a turn.
import type { MeasuredSummary, NodeSnapshot, Part, ProcessCounts, SummaryNode } from '../../ports/model/node-measurements.js';
import type { PodStats } from '../../ports/model/stats-summary.js';
import { measuredNumbers } from './measured-numbers.js';
import { measuredCpuAndMemory, measuredSummary } from './measured-summary.js';
import type { SummaryFacts } from './node-summary.js';
import { eachPodCpuAndMemoryStats, eachPodStats } from './pod-stats.js';
import { imageFsPart, podStatsFacts, podsError, rootCgroupPart, systemContainers } from './snapshot-facts.js';

/** With all numbers. @param counts null: unknown */
export function* fullSummary(snapshot: NodeSnapshot, node: SummaryNode, counts: ProcessCounts | null): Generator<undefined, Part<MeasuredSummary>> {
  const { time } = snapshot;
  const facts = summaryFacts(snapshot, node, yield* podsPart(snapshot, false));
  return measuredSummary({
    ...facts,
    root: snapshot.root,
    imageFs: imageFsPart(snapshot),
    rlimit: counts === null ? { ok: false, error: '/proc does not report the number of processes' } : { ok: true, value: { time, ...counts } },
  });
}

/** For `?only_cpu_and_memory=true`. */
export function* cpuAndMemoryOnly(snapshot: NodeSnapshot, node: SummaryNode): Generator<undefined, Part<MeasuredSummary>> {
  return measuredCpuAndMemory(summaryFacts(snapshot, node, yield* podsPart(snapshot, true)));
}

function summaryFacts(snapshot: NodeSnapshot, node: SummaryNode, pods: SummaryFacts['pods']): SummaryFacts {
  return {
    nodeName: { ok: true, value: node.name },
    rootCgroup: rootCgroupPart(snapshot, node.machine),
    bootedAt: node.bootedAt,
    systemContainers: systemContainers(snapshot, node),
    pods,
  };
}

function* podsPart(snapshot: NodeSnapshot, onlyCpuAndMemory: boolean): Generator<undefined, Part<readonly PodStats[]>> {
  const error = podsError(snapshot);
  if (error !== null) return { ok: false, error };
  const facts = podStatsFacts(snapshot);
  const each = onlyCpuAndMemory ? eachPodCpuAndMemoryStats(facts, snapshot.time, measuredNumbers) : eachPodStats(facts, snapshot.time, measuredNumbers);
  const pods: PodStats[] = [];
  for (const pod of each) {
    pods.push(pod);
    yield;
  }
  return { ok: true, value: pods };
}
