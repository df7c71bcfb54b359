// How much of a starved resource a pod uses, for comparing pods.
// Invariant: a missing measurement counts as 0.
import type { Pod } from '../../ports/model/pod.js';
import type { FsStats, PodStats } from '../../ports/model/stats-summary.js';
import type { EvictionSignal, FileSystemLayout } from './signals.js';
import { starvedResource } from './signals.js';

/** The parts of a pod's disk usage that lie on one file system. */
interface DiskParts {
  readonly rootfs: boolean;
  readonly logs: boolean;
  readonly localVolumes: boolean;
}

const onNode: DiskParts = { rootfs: false, logs: true, localVolumes: true };
const everything: DiskParts = { rootfs: true, logs: true, localVolumes: true };
const rootLayers: DiskParts = { rootfs: true, logs: false, localVolumes: false };
const nothing: DiskParts = { rootfs: false, logs: false, localVolumes: false };

/** Bytes, inodes or processes that count against the signal. */
export function podUsage(pod: Pod, stats: PodStats, signal: EvictionSignal, layout: FileSystemLayout): number {
  switch (starvedResource(signal)) {
    case 'memory':
      return stats.memory?.workingSetBytes ?? 0;
    case 'pids':
      return stats.process_stats?.process_count ?? 0;
    case 'ephemeral-storage':
      return diskUsage(pod, stats, diskParts(signal, layout), (fs) => fs?.usedBytes ?? 0);
    case 'inodes':
      return diskUsage(pod, stats, diskParts(signal, layout), (fs) => fs?.inodesUsed ?? 0);
  }
}

/** The part of a pod on the signal's file system. Images are shared, so they count for no pod. */
function diskParts(signal: EvictionSignal, { dedicatedImageFs, splitContainerFs }: FileSystemLayout): DiskParts {
  if (!dedicatedImageFs) return everything;
  const isImageFs = signal.startsWith('imagefs.');
  if (splitContainerFs) return isImageFs ? nothing : everything;
  return isImageFs || signal.startsWith('containerfs.') ? rootLayers : onNode;
}

function diskUsage(pod: Pod, stats: PodStats, parts: DiskParts, used: (fs: FsStats | undefined) => number): number {
  let sum = 0;
  for (const container of stats.containers ?? []) {
    if (parts.rootfs) sum += used(container.rootfs);
    if (parts.logs) sum += used(container.logs);
  }
  if (!parts.localVolumes) return sum;
  const volumes = new Map<string, FsStats>();
  for (const volume of stats.volume ?? []) if (!volumes.has(volume.name)) volumes.set(volume.name, volume);
  for (const volume of pod.spec.volumes ?? []) {
    const isLocal = volume.hostPath !== undefined || volume.configMap !== undefined || volume.gitRepo !== undefined || isOnDefaultMedium(volume.emptyDir);
    if (isLocal) sum += used(volumes.get(volume.name));
  }
  return sum;
}

function isOnDefaultMedium(emptyDir: { readonly medium?: string } | undefined): boolean {
  return emptyDir !== undefined && (emptyDir.medium ?? '') === '';
}
