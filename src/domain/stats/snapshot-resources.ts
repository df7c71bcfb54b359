// The resource metrics of a snapshot: CPU, memory and swap of the node, its pods and their containers.
// Invariant: between two pods it yields, so that its caller can give other work a turn.
import type { Instant } from '../../ports/instant.js';
import type { CgroupSample } from '../../ports/model/cgroup-sample.js';
import type { NodeResources, NodeSnapshot, ResourceContainer, ResourceNumbers, ResourcePod, SummaryNode } from '../../ports/model/node-measurements.js';
import type { ContainerStats } from '../../ports/model/stats-summary.js';
import { epochMicros, instantOf } from '../values/instant.js';
import { liveCgroups, podCgroupKey, podCgroups } from './live-cgroups.js';
import { measuredNumbers } from './measured-numbers.js';
import { eachPodCpuAndMemoryStats, type StatsContainer } from './pod-stats.js';
import { podStatsFacts, podsError, rootCgroupPart } from './snapshot-facts.js';

export function* nodeResources(snapshot: NodeSnapshot, machine: SummaryNode['machine']): Generator<undefined, NodeResources> {
  const { time } = snapshot;
  const facts = podStatsFacts(snapshot);
  const rootCgroup = rootCgroupPart(snapshot, machine);
  const node = rootCgroup.ok ? numbersOf(podLike(rootCgroup.value), millisOf(rootCgroup.value, time)) : null;
  const ofPods = podCgroups(facts.cgroups);
  const live = liveCgroups(facts.cgroups);
  const uids = new Map(facts.sandboxes.map(({ id, uid }) => [id, uid]));
  // Of restarted containers the running one counts.
  const running = new Map<string, StatsContainer>();
  for (const container of facts.containers) if (container.isRunning) running.set(`${uids.get(container.sandboxId)}/${container.name}`, container);
  const failed = podsError(snapshot) !== null;
  const pods: ResourcePod[] = [];
  for (const pod of failed ? [] : eachPodCpuAndMemoryStats(facts, time, measuredNumbers)) {
    const { name, namespace, uid } = pod.podRef;
    const containers = (pod.containers ?? []).map((container): ResourceContainer => {
      const found = running.get(`${uid}/${container.name}`);
      return { name: container.name, startedAtSeconds: epochMicros(found?.createdAt ?? instantOf(0)) / 1e6, ...numbersOf(container, millisOf(live.get(found?.id ?? ''), time)) };
    });
    pods.push({ name, namespace, containers, ...numbersOf(pod, millisOf(ofPods.get(podCgroupKey(uid)), time)) });
    yield;
  }
  return { node, failed: failed || !rootCgroup.ok, pods };
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
