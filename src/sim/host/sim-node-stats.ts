// Usage of a simulated node and its pods: figures of the scenario, counted while the pod's containers run, on the one disk of the host.

import { formatRfc3339 } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { FsStats, PodStats } from '../../ports/model/stats-summary.js';
import type { NodeStatsReading } from '../../ports/outbound/node-stats.js';

/** Of one pod, in bytes; each of its containers takes an equal part of the memory. */
export interface SimPodUsage {
  readonly memoryBytes: number;
  /** Of its containers' own layers. */
  readonly rootfsBytes: number;
  readonly volumes: Readonly<Record<string, number>>;
}

export interface SimUsage {
  /** In use besides the pods. */
  memoryBytes: number;
  dedicatedImageFs: boolean;
  processes: number;
  /** Parts of the node that can't be read at the moment. */
  readonly unread: Set<'memory' | 'fs' | 'runtime' | 'rlimit'>;
  /** By uid; pods that are not named use nothing. */
  readonly pods: Map<string, SimPodUsage>;
}

export interface SimRunningPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly string[];
}

export function noSimUsage(): SimUsage {
  return { memoryBytes: 1024 ** 3, dedicatedImageFs: false, processes: 200, unread: new Set(), pods: new Map() };
}

export interface SimNodeFigures {
  readonly usage: SimUsage;
  readonly running: readonly SimRunningPod[];
  readonly memoryBytes: number;
  readonly maxPids: number;
  readonly disk: { readonly capacityBytes: number; readonly availableBytes: number };
}

const nothing: SimPodUsage = { memoryBytes: 0, rootfsBytes: 0, volumes: {} };

/** Bytes that pods have on the disk: those of pods that run. */
export function podsDiskBytes({ pods }: SimUsage, running: readonly SimRunningPod[]): number {
  return running.reduce((sum, { uid }) => sum + diskBytes(pods.get(uid) ?? nothing), 0);
}

export function simNodeStats({ usage, running, memoryBytes, maxPids, disk }: SimNodeFigures, at: Instant): NodeStatsReading {
  const time = formatRfc3339(at);
  const pods = running.map((pod) => podStats(pod, usage.pods.get(pod.uid) ?? nothing, time));
  const workingSetBytes = usage.memoryBytes + pods.reduce((sum, { memory }) => sum + (memory?.workingSetBytes ?? 0), 0);
  const fs: FsStats = { time, ...disk, usedBytes: disk.capacityBytes - disk.availableBytes, inodes: 1_000_000, inodesFree: 900_000, inodesUsed: 100_000 };
  const node = {
    nodeName: '',
    memory: { time, workingSetBytes, availableBytes: Math.max(0, memoryBytes - workingSetBytes) },
    fs,
    runtime: { imageFs: fs, containerFs: fs },
    rlimit: { time, maxpid: maxPids, curproc: usage.processes },
  };
  const read = Object.entries(node).filter(([part]) => !(usage.unread as ReadonlySet<string>).has(part));
  return { summary: { node: Object.fromEntries(read) as unknown as typeof node, pods }, dedicatedImageFs: usage.unread.has('runtime') ? null : usage.dedicatedImageFs };
}

function podStats({ uid, name, namespace, containers }: SimRunningPod, used: SimPodUsage, time: string): PodStats {
  const share = (bytes: number): number => (containers.length === 0 ? 0 : Math.floor(bytes / containers.length));
  return {
    podRef: { name, namespace, uid },
    memory: { time, usageBytes: used.memoryBytes, workingSetBytes: used.memoryBytes },
    containers: containers.map((container) => ({
      name: container,
      memory: { time, usageBytes: share(used.memoryBytes), workingSetBytes: share(used.memoryBytes) },
      rootfs: { time, usedBytes: share(used.rootfsBytes) },
      logs: { time, usedBytes: 0 },
    })),
    volume: Object.entries(used.volumes).map(([volume, usedBytes]) => ({ name: volume, time, usedBytes })),
    'ephemeral-storage': { time, usedBytes: diskBytes(used) },
    process_stats: { process_count: containers.length },
  };
}

function diskBytes({ rootfsBytes, volumes }: SimPodUsage): number {
  return Object.values(volumes).reduce((sum, bytes) => sum + bytes, rootfsBytes);
}
