// What the stats summary and the resource metrics need of a snapshot of the node.
// Invariant: without the runtime's list there are no sandboxes and containers; without its readings the containers have none.

import type { CgroupSample } from '../../ports/model/cgroup-sample.js';
import type { FilesystemNumbers, ImageFilesystem, NodeSnapshot, Part, SummaryNode } from '../../ports/model/node-measurements.js';
import type { FsStats } from '../../ports/model/stats-summary.js';
import { instantOf } from '../values/instant.js';
import { imageFsStats } from './filesystem-stats.js';
import { timedPart } from './measured-numbers.js';
import type { SystemContainer } from './node-summary.js';
import type { PodStatsFacts, StatsContainer, StatsSandbox } from './pod-stats.js';

export function podStatsFacts({ time, listing, readings, cgroups, root, filesystems, diskUsage }: NodeSnapshot): PodStatsFacts {
  const pods = listing.ok ? listing.value.pods : [];
  return {
    sandboxes: pods.flatMap(({ uid, name, namespace, sandboxes }) =>
      sandboxes.map(({ id, createdAt, state }): StatsSandbox => ({ id, name, namespace, uid, createdAt, isReady: state === 'ready' })),
    ),
    containers: pods.flatMap(({ containers }) =>
      containers.map(({ id, name, sandboxId, createdAt, state }): StatsContainer => ({ id, name, sandboxId, createdAt, isRunning: state === 'running' })),
    ),
    readings: readings.ok ? readings.value : [],
    cgroups: Object.fromEntries(cgroups.map(({ path, sample }) => [path, sample])),
    root: root.ok ? root.value : { time, device: '' },
    filesystems,
    containerLogs: (uid, containerName) => diskUsage(uid)?.containerLogs.get(containerName) ?? null,
    podLogs: (uid) => diskUsage(uid)?.podLogs ?? null,
    etcHosts: (uid) => diskUsage(uid)?.etcHosts ?? null,
    ephemeralVolumes: (uid) => diskUsage(uid)?.ephemeral ?? [],
    persistentVolumes: (uid) => diskUsage(uid)?.persistent ?? [],
  };
}

/** Why the statistics of pods are missing; null: they aren't. */
export function podsError({ listing, readings }: NodeSnapshot): string | null {
  if (!listing.ok) return listing.error;
  return readings.ok ? null : readings.error;
}

/** The file system of images, in the words of the summary. */
export function imageFsPart({ imageFilesystems, filesystems }: NodeSnapshot): Part<FsStats> {
  return imageFilesystems.ok ? datedImageFs(imageFilesystems.value, filesystems) : imageFilesystems;
}

function datedImageFs(reported: readonly ImageFilesystem[], byMountpoint: Readonly<Record<string, FilesystemNumbers>>): Part<FsStats> {
  const result = imageFsStats(reported, byMountpoint);
  return result.ok ? { ok: true, value: timedPart(reported[0]?.time ?? instantOf(0), result.stats) } : result;
}

/** The root cgroup has no limits of its own: the machine's are its limits. */
export function rootCgroupPart({ cgroups }: NodeSnapshot, { memoryBytes, swapBytes }: SummaryNode['machine']): Part<CgroupSample> {
  const root = cgroups.find(({ path }) => path === '/');
  if (root === undefined) return { ok: false, error: 'failed to get cgroup stats for "/": unknown container "/"' };
  return { ok: true, value: { ...root.sample, memoryLimitBytes: BigInt(memoryBytes), swapLimitBytes: BigInt(swapBytes) } };
}

/** The system containers of the summary, besides the pods. */
export function systemContainers({ cgroups }: NodeSnapshot, { systemCgroups }: SummaryNode): readonly SystemContainer[] {
  return systemCgroups.flatMap(({ name, path, startedAt }) => {
    if (path === '') return [];
    return [{ name, cgroup: cgroups.find((one) => one.path === path)?.sample ?? null, startedAt }];
  });
}
