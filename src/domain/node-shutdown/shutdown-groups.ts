// Graceful node shutdown: pods end in groups, the least important first, each group within its share of the time that init gives.
// Invariant: each pod is in exactly one group, and gets no more time than the group has.
import type { Pod } from '../../ports/model/pod.js';
import type { PodCondition, PodStatus } from '../../ports/model/pod-status.js';
import { type Admission, admitted, rejected } from '../admission/admission-result.js';
import { disruptionCondition } from '../eviction/eviction.js';
import { type Nanoseconds, nanosPerSecond } from '../values/go-duration.js';
import { knownPriority, systemCriticalPriority } from '../values/pod-kind.js';

export interface ShutdownConfiguration {
  readonly shutdownGracePeriod: Nanoseconds;
  readonly shutdownGracePeriodCriticalPods: Nanoseconds;
  /** If not empty, it replaces the two periods. */
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownPriority[];
}

export interface ShutdownPriority {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

export interface ShutdownGroup extends ShutdownPriority {
  readonly pods: readonly Pod[];
}

/** Reason of the status of a pod that the shutdown ended. */
const terminatedReason = 'Terminated';
const terminatedMessage = 'Pod was terminated in response to imminent node shutdown.';

/** Lowest first; empty when the feature is off. */
export function shutdownPriorities(configuration: ShutdownConfiguration): readonly ShutdownPriority[] {
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods, shutdownGracePeriodByPodPriority } = configuration;
  if (shutdownGracePeriodByPodPriority.length > 0) return [...shutdownGracePeriodByPodPriority].sort((a, b) => a.priority - b.priority);
  const forOthers = shutdownGracePeriod - shutdownGracePeriodCriticalPods;
  if (shutdownGracePeriod === 0 || forOthers < 0 || shutdownGracePeriodCriticalPods < 0) return [];
  return [
    { priority: 0, shutdownGracePeriodSeconds: Math.trunc(forOthers / nanosPerSecond) },
    { priority: systemCriticalPriority, shutdownGracePeriodSeconds: Math.trunc(shutdownGracePeriodCriticalPods / nanosPerSecond) },
  ];
}

/** What init has to wait for the node. */
export function totalShutdownSeconds(priorities: readonly ShutdownPriority[]): number {
  return priorities.reduce((sum, { shutdownGracePeriodSeconds }) => sum + shutdownGracePeriodSeconds, 0);
}

/** @param priorities lowest first, not empty */
export function groupPods(priorities: readonly ShutdownPriority[], pods: readonly Pod[]): ShutdownGroup[] {
  const members: Pod[][] = priorities.map(() => []);
  for (const pod of pods) members[groupIndex(priorities, knownPriority(pod) ?? 0)]?.push(pod);
  return priorities.map((priority, i) => ({ ...priority, pods: members[i] ?? [] }));
}

/** The highest group that isn't above the priority; below all of them the lowest. Of several with just this priority the first. */
function groupIndex(priorities: readonly ShutdownPriority[], priority: number): number {
  let low = 0;
  let high = priorities.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((priorities[middle] as ShutdownPriority).priority < priority) low = middle + 1;
    else high = middle;
  }
  return priorities[low]?.priority === priority ? low : Math.max(low - 1, 0);
}

export function shutdownGracePeriodSeconds(pod: Pod, group: ShutdownPriority): number {
  return Math.min(pod.spec.terminationGracePeriodSeconds ?? group.shutdownGracePeriodSeconds, group.shutdownGracePeriodSeconds);
}

/** The status that the kill gives the pod: what succeeded stays so, all else has failed. It is no eviction. */
export function shutdownStatus(phase: PodStatus['phase']): Pick<PodStatus, 'phase' | 'reason' | 'message'> & { readonly condition: Omit<PodCondition, 'lastTransitionTime'> } {
  return { phase: phase === 'Succeeded' ? phase : 'Failed', reason: terminatedReason, message: terminatedMessage, condition: disruptionCondition(terminatedMessage) };
}

export function admitDuringShutdown(isShuttingDown: boolean): Admission {
  return isShuttingDown ? rejected('NodeShutdown', 'Pod was rejected as the node is shutting down.') : admitted;
}
