// Which pod goes first when a resource of the node runs out.
// Invariants: a total order: pods that no rule tells apart keep the order in which they are given. What was not measured counts as no use:
// a pod without numbers is judged by its priority and its request alone, never as one that uses more than it asked for.
import type { Pod } from '../../ports/model/pod.js';
import type { PodStats } from '../../ports/model/stats-summary.js';
import { resourceRequest } from '../qos/resource-request.js';
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
  /** Measured, and found to use more than it asked for; processes have no request, so there no pod does. */
  readonly exceeds: boolean;
  readonly priority: number;
  readonly aboveRequest: Quantity;
}

/**
 * First evicted first. Memory and disk: pods that use more than they asked for, then lower priority, then the larger excess.
 * Processes: lower priority, then more of them.
 * @param stats by uid
 */
export function rankPods(pods: readonly Pod[], stats: ReadonlyMap<string, PodStats>, signal: EvictionSignal, layout: FileSystemLayout): RankedPod[] {
  const compare = starvedResource(signal) === 'pids' ? byPriorityThenUsage : byExcessThenPriority;
  const standings = pods.map((pod) => standingOf(pod, stats.get(pod.metadata.uid ?? ''), signal, layout));
  standings.sort(compare);
  let rank = 0;
  return standings.map((standing, i) => {
    const previous = standings[i - 1];
    if (previous !== undefined && compare(previous, standing) !== 0) rank = i;
    return { pod: standing.pod, rank };
  });
}

function standingOf(pod: Pod, stats: PodStats | undefined, signal: EvictionSignal, layout: FileSystemLayout): Standing {
  const priority = pod.spec.priority ?? 0;
  const resource = starvedResource(signal);
  const usage = quantityOf(stats === undefined ? 0 : podUsage(pod, stats, signal, layout));
  if (resource === 'pids') return { pod, exceeds: false, priority, aboveRequest: usage };
  const exceeds = compareQuantities(usage, resourceRequest(pod, resource)) > 0;
  // Nobody can ask for inodes, so there the request for bytes is what is taken off. It makes no sense, but it is the order people know.
  const request = resourceRequest(pod, resource === 'inodes' ? 'ephemeral-storage' : resource);
  return { pod, exceeds, priority, aboveRequest: subtractQuantities(usage, request) };
}

function byExcessThenPriority(a: Standing, b: Standing): number {
  return Number(b.exceeds) - Number(a.exceeds) || byPriorityThenUsage(a, b);
}

function byPriorityThenUsage(a: Standing, b: Standing): number {
  return a.priority - b.priority || compareQuantities(b.aboveRequest, a.aboveRequest);
}
