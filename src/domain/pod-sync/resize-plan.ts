// The order of a pod's resize: memory before cpu; of each the pod's own limit and then its share rise before the
// containers' amounts change, and fall after them, so that the containers always fit (KEP-1287).
// Invariant: a removed limit stays as it is; a pod's memory request is never written.
import type { CgroupConfig } from '../cgroups/cgroup-config.js';
import { unlimitedQuota } from '../cgroups/cpu-conversions.js';
import type { ContainerToUpdate } from './container-resize.js';
import type { PodActions } from './pod-actions-types.js';
import type { ResizeActuation, ResizeCall, ResizedResource } from './resize-state.js';

/** Whether anything must be resized in place. */
export function isResizing({ containersToUpdate, updatePodResources, updatePodLevelResources }: PodActions): boolean {
  return containersToUpdate.cpu.length > 0 || containersToUpdate.memory.length > 0 || updatePodResources || updatePodLevelResources;
}

/**
 * @param before the values last given to the pod's cgroup
 * @param after the wanted values
 * @param hasCgroup pods have cgroups of their own
 */
export function planResize(actions: PodActions, before: CgroupConfig, after: CgroupConfig, hasCgroup: boolean, now: number): ResizeActuation {
  const whole = actions.updatePodResources || actions.updatePodLevelResources;
  const { memory, cpu } = actions.containersToUpdate;
  const ofMemory = memory.length > 0 || whole ? resourceCalls('memory', memory, memorySides(before, after), hasCgroup) : [];
  const ofCpu = cpu.length > 0 || whole ? resourceCalls('cpu', cpu, cpuSides(before, after), hasCgroup) : [];
  const shrinking = { pod: shrinkingPodLimit(before, after), containers: shrinkingLimits(memory) };
  const isGuarded = ofMemory.length > 0 && (shrinking.pod !== null || shrinking.containers.size > 0);
  const calls: ResizeCall[] = [...(isGuarded ? [{ kind: 'usage' as const }] : []), ...ofMemory, ...ofCpu];
  return { calls, before, after, shrinking, podLevel: actions.updatePodLevelResources, wrote: false, startedAt: now };
}

interface Sides {
  /** Positive: it grows. */
  readonly limits: number;
  readonly requests: number;
}

function resourceCalls(resource: ResizedResource, updates: readonly ContainerToUpdate[], { limits, requests }: Sides, hasCgroup: boolean): ResizeCall[] {
  const cgroup = (side: 'limits' | 'requests'): ResizeCall[] => (hasCgroup ? [{ kind: 'cgroup', resource, side }] : []);
  const pod = (side: 'limits' | 'requests', isDue: boolean): ResizeCall[] => (isDue ? [{ kind: 'pod', resource, side }, ...cgroup(side)] : []);
  return [
    ...pod('limits', limits > 0),
    ...pod('requests', requests > 0),
    ...updates.map(({ id, name }) => ({ kind: 'container' as const, resource, id, name })),
    ...pod('requests', requests < 0),
    ...pod('limits', limits < 0),
  ];
}

function memorySides(before: CgroupConfig, after: CgroupConfig): Sides {
  return { limits: compare(limitOf(before.memoryBytes), limitOf(after.memoryBytes), after.memoryBytes !== null && after.memoryBytes > 0n), requests: 0 };
}

function cpuSides(before: CgroupConfig, after: CgroupConfig): Sides {
  const quota = (amount: number | null): number => (amount === null || amount <= 0 ? Number.POSITIVE_INFINITY : amount);
  const isAsked = after.cpuQuotaMicros !== null && (after.cpuQuotaMicros > 0 || after.cpuQuotaMicros === unlimitedQuota);
  return {
    limits: compare(quota(before.cpuQuotaMicros), quota(after.cpuQuotaMicros), isAsked),
    requests: compare(before.cpuShares ?? 0, after.cpuShares ?? 0, after.cpuShares !== null),
  };
}

function compare(before: number, after: number, isAsked: boolean): number {
  return !isAsked || before === after ? 0 : after > before ? 1 : -1;
}

function limitOf(bytes: bigint | null): number {
  return bytes === null || bytes <= 0n ? Number.POSITIVE_INFINITY : Number(bytes);
}

function shrinkingPodLimit(before: CgroupConfig, after: CgroupConfig): bigint | null {
  return memorySides(before, after).limits < 0 ? after.memoryBytes : null;
}

/** Reduced limits, and new limits where none existed. */
function shrinkingLimits(updates: readonly ContainerToUpdate[]): ReadonlyMap<string, number> {
  const shrinks = updates.filter(({ desired, current }) => desired.memoryLimitBytes > 0 && (current.memoryLimitBytes === 0 || desired.memoryLimitBytes < current.memoryLimitBytes));
  return new Map(shrinks.map(({ name, desired }) => [name, desired.memoryLimitBytes]));
}
