// The answer of `/stats/summary`: the node's numbers, its system containers, and the pods.
// Invariant: all or nothing; a part that can't be read fails the request with an error that names it.

import type { Instant } from '../../ports/instant.js';
import type { CgroupSample } from '../../ports/model/cgroup-sample.js';
import type { Part, RootFilesystem } from '../../ports/model/node-measurements.js';
import type { ContainerStats, FsStats, NodeStats, PodStats, StatsSummary } from '../../ports/model/stats-summary.js';
import { formatRfc3339 } from '../values/time.js';
import { cgroupNetwork, cgroupStats, namedCgroupStats } from './cgroup-stats.js';
import { rootFilesystemStats } from './filesystem-stats.js';

export interface SystemContainer {
  readonly name: 'kubelet' | 'runtime' | 'misc' | 'pods';
  /** null: no known cgroup of its own, so it is left out. */
  readonly cgroup: CgroupSample | null;
  /** Shown instead of the cgroup's creation; null: that one. */
  readonly startedAt: Instant | null;
}

export interface SummaryFacts {
  readonly nodeName: Part<string>;
  readonly rootCgroup: Part<CgroupSample>;
  readonly bootedAt: Instant;
  readonly systemContainers: readonly SystemContainer[];
  readonly pods: Part<readonly PodStats[]>;
}

export interface FullSummaryFacts extends SummaryFacts {
  readonly root: Part<RootFilesystem>;
  /** Images and writable layers share it. */
  readonly imageFs: Part<FsStats>;
  readonly rlimit: Part<{ readonly time: Instant; readonly maxPid: number; readonly processes: number }>;
}

export function statsSummary(facts: FullSummaryFacts): Part<StatsSummary> {
  const { nodeName, rootCgroup, root, imageFs, pods, rlimit } = facts;
  if (!nodeName.ok) return failed('failed to get node info', nodeName);
  if (!rootCgroup.ok) return failed('failed to get root cgroup stats', rootCgroup);
  if (!root.ok) return failed('failed to get rootFs stats', root);
  if (!imageFs.ok) return failed('failed to get imageFs stats', imageFs);
  if (!pods.ok) return failed('failed to list pod stats', pods);
  if (!rlimit.ok) return failed('failed to get rlimit stats', rlimit);
  const network = cgroupNetwork(rootCgroup.value);
  const node: NodeStats = {
    nodeName: nodeName.value,
    ...systemContainersOf(facts.systemContainers),
    startTime: formatRfc3339(facts.bootedAt),
    ...cgroupStats(rootCgroup.value),
    ...(network === null ? {} : { network }),
    fs: rootFilesystemStats(root.value),
    runtime: { imageFs: imageFs.value, containerFs: imageFs.value },
    rlimit: { time: formatRfc3339(rlimit.value.time), maxpid: rlimit.value.maxPid, curproc: rlimit.value.processes },
  };
  return { ok: true, value: { node, pods: pods.value } };
}

/** For `?only_cpu_and_memory=true`, where the node starts with its root cgroup. */
export function cpuAndMemorySummary({ nodeName, rootCgroup, systemContainers, pods }: SummaryFacts): Part<StatsSummary> {
  if (!nodeName.ok) return failed('failed to get node info', nodeName);
  if (!rootCgroup.ok) return failed('failed to get root cgroup stats', rootCgroup);
  if (!pods.ok) return failed('failed to list pod stats', pods);
  const { io: _io, ...numbers } = cgroupStats(rootCgroup.value);
  const node: NodeStats = { nodeName: nodeName.value, ...systemContainersOf(systemContainers), startTime: formatRfc3339(rootCgroup.value.createdAt), ...numbers };
  return { ok: true, value: { node, pods: pods.value } };
}

function systemContainersOf(containers: readonly SystemContainer[]): { readonly systemContainers?: readonly ContainerStats[] } {
  const known = containers.flatMap(({ name, cgroup, startedAt }) => (cgroup === null ? [] : [namedCgroupStats(name, cgroup, startedAt ?? cgroup.createdAt)]));
  return known.length === 0 ? {} : { systemContainers: known };
}

function failed(what: string, { error }: { readonly error: string }): Part<never> {
  return { ok: false, error: `${what}: ${error}` };
}
