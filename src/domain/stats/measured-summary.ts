// The answer of `/stats/summary` as served: each part is independent, and a part that could not be read is absent.
// Invariant: without the list of pods the request fails, since no pods and unknown pods would look the same.

import type { Instant } from '../../ports/instant.js';
import type { MeasuredSummary, MissingPart, Part } from '../../ports/model/node-measurements.js';
import type { ContainerStats, NodeStats, PodStats } from '../../ports/model/stats-summary.js';
import { cgroupNetwork } from './cgroup-stats.js';
import { rootFilesystemStats } from './filesystem-stats.js';
import { measuredCgroup, measuredTime } from './measured-numbers.js';
import type { FullSummaryFacts, SummaryFacts, SystemContainer } from './node-summary.js';

export function measuredSummary(facts: FullSummaryFacts): Part<MeasuredSummary> {
  const { rootCgroup, root, imageFs, rlimit } = facts;
  const node = nodeOf(facts, facts.bootedAt, (found) => ({
    ...found,
    ...(root.ok ? { fs: rootFilesystemStats(root.value) } : {}),
    ...(imageFs.ok ? { runtime: { imageFs: imageFs.value, containerFs: imageFs.value } } : {}),
    ...(rlimit.ok ? { rlimit: { ...startOf('time', rlimit.value.time), maxpid: rlimit.value.maxPid, curproc: rlimit.value.processes } } : {}),
  }));
  const missing = [missingOf('root cgroup', rootCgroup), missingOf('rootFs', root), missingOf('imageFs', imageFs), missingOf('rlimit', rlimit)];
  return withPods(facts, node, missing.flat());
}

/** For `?only_cpu_and_memory=true`, where the node starts with its root cgroup. */
export function measuredCpuAndMemory(facts: SummaryFacts): Part<MeasuredSummary> {
  const { rootCgroup } = facts;
  const node = nodeOf(facts, rootCgroup.ok ? rootCgroup.value.createdAt : null, ({ io: _io, network: _network, ...found }) => found);
  return withPods(facts, node, missingOf('root cgroup', rootCgroup));
}

function nodeOf({ nodeName, rootCgroup, systemContainers }: SummaryFacts, startedAt: Instant | null, more: (node: NodeStats) => NodeStats): Part<NodeStats> {
  if (!nodeName.ok) return { ok: false, error: `failed to get node info: ${nodeName.error}` };
  const containers = systemContainersOf(systemContainers);
  const network = rootCgroup.ok ? cgroupNetwork(rootCgroup.value) : null;
  return {
    ok: true,
    value: more({
      nodeName: nodeName.value,
      ...(containers.length === 0 ? {} : { systemContainers: containers }),
      ...(startedAt === null ? {} : startOf('startTime', startedAt)),
      ...(rootCgroup.ok ? measuredCgroup(rootCgroup.value) : {}),
      ...(network === null ? {} : { network }),
    }),
  };
}

function withPods({ pods }: { readonly pods: Part<readonly PodStats[]> }, node: Part<NodeStats>, missing: readonly MissingPart[]): Part<MeasuredSummary> {
  if (!node.ok) return node;
  if (!pods.ok) return { ok: false, error: `failed to list pod stats: ${pods.error}` };
  return { ok: true, value: { summary: { node: node.value, pods: pods.value }, missing } };
}

function systemContainersOf(containers: readonly SystemContainer[]): readonly ContainerStats[] {
  return containers.flatMap(({ name, cgroup, startedAt }) =>
    cgroup === null ? [] : [{ name, ...startOf('startTime', startedAt ?? cgroup.createdAt), ...measuredCgroup(cgroup) } as ContainerStats],
  );
}

function startOf<Key extends string>(key: Key, time: Instant): { readonly [K in Key]?: string } {
  const measured = measuredTime(time);
  return (measured === null ? {} : { [key]: measured }) as { readonly [K in Key]?: string };
}

function missingOf(part: MissingPart['part'], read: Part<unknown>): MissingPart[] {
  return read.ok ? [] : [{ part, error: read.error }];
}
