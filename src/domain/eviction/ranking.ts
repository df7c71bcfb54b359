// The order of eviction when a resource of the node runs out.
// Invariant: a total order: pods of equal rank keep their given order.
import type { Pod } from '../../ports/model/pod.js';
import type { PodStats } from '../../ports/model/stats-summary.js';
import { resourceRequest } from '../qos/resource-request.js';
import { knownPriority } from '../values/pod-kind.js';
import { compareQuantities, type Quantity, quantityOf, subtractQuantities } from '../values/quantity.js';
import { podUsage } from './pod-usage.js';
import { type EvictionSignal, type FileSystemLayout, starvedResource } from './signals.js';

export interface RankedPod {
  readonly pod: Pod;
  /** Pods of equal standing have the same number. */
  readonly rank: number;
}

interface Standing {
  readonly pod: Pod;
  /** 0: not measured, 1: usage exceeds the request, 2: it doesn't; processes have no request, so there all measured ones are 1. */
  readonly conduct: 0 | 1 | 2;
  readonly priority: number;
  readonly aboveRequest: Quantity;
}

/**
 * First evicted first. Memory and disk: pods whose usage exceeds their request, then lower priority, then the larger excess.
 * Processes: lower priority, then more of them. A pod without stats comes first if usage counts.
 * @param stats by uid
 */
export function rankPods(pods: readonly Pod[], stats: ReadonlyMap<string, PodStats>, signal: EvictionSignal, layout: FileSystemLayout): RankedPod[] {
  const compare = starvedResource(signal) === 'pids' ? byPriorityThenUsage : byConductThenPriority;
  const standings = pods.map((pod) => standingOf(pod, stats.get(pod.metadata.uid ?? ''), signal, layout));
  standings.sort(compare);
  let rank = 0;
  return standings.map((standing, i) => {
    const previous = standings[i - 1];
    if (previous !== undefined && compare(previous, standing) !== 0) rank = i;
    return { pod: standing.pod, rank };
  });
}

/**
 * The agent's eviction order: a pod without a measurement counts as using nothing, and is ranked by its priority and its request alone
 * (docs/differences.md: `rankPods`, as the Go kubelet, ranks it first).
 */
export function rankPodsForEviction(pods: readonly Pod[], stats: ReadonlyMap<string, PodStats>, signal: EvictionSignal, layout: FileSystemLayout): RankedPod[] {
  const unmeasured = pods.filter(({ metadata }) => !stats.has(metadata.uid ?? ''));
  if (unmeasured.length === 0) return rankPods(pods, stats, signal, layout);
  const idle = unmeasured.map(({ metadata: { name, namespace = '', uid = '' } }) => [uid, { podRef: { name, namespace, uid } }] as const);
  return rankPods(pods, new Map<string, PodStats>([...stats, ...idle]), signal, layout);
}

function standingOf(pod: Pod, stats: PodStats | undefined, signal: EvictionSignal, layout: FileSystemLayout): Standing {
  const priority = knownPriority(pod) ?? 0;
  const resource = starvedResource(signal);
  if (stats === undefined) return { pod, conduct: 0, priority, aboveRequest: quantityOf(0) };
  const usage = quantityOf(podUsage(pod, stats, signal, layout));
  if (resource === 'pids') return { pod, conduct: 1, priority, aboveRequest: usage };
  const exceeds = compareQuantities(usage, resourceRequest(pod, resource)) > 0;
  // Inodes can't be requested, so the request in bytes is subtracted there. It makes no sense, but it is the Go kubelet's order.
  const request = resourceRequest(pod, resource === 'inodes' ? 'ephemeral-storage' : resource);
  return { pod, conduct: exceeds ? 1 : 2, priority, aboveRequest: subtractQuantities(usage, request) };
}

function byConductThenPriority(a: Standing, b: Standing): number {
  return a.conduct - b.conduct || a.priority - b.priority || compareQuantities(b.aboveRequest, a.aboveRequest);
}

function byPriorityThenUsage(a: Standing, b: Standing): number {
  return a.priority - b.priority || a.conduct - b.conduct || compareQuantities(b.aboveRequest, a.aboveRequest);
}
