// Measurements of the node and its pods: what an adapter reads from the kernel and the runtime, and the domain makes the stats summary from.
import type { Instant } from '../instant.js';
import type { QuotaPlace } from '../outbound/project-quotas.js';
import type { CgroupSample } from './cgroup-sample.js';
import type { RuntimeListing } from './runtime-listing.js';
import type { MemoryStats, StatsSummary, VolumeStats } from './stats-summary.js';

/** A part of the summary, or why it could not be read. */
export type Part<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

export interface FilesystemNumbers {
  readonly device: string;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  /** Absent where the file system has no fixed number of them. */
  readonly inodes?: number;
  readonly inodesFree?: number;
}

/** The file system below the kubelet's root directory. */
export interface RootFilesystem extends FilesystemNumbers {
  readonly time: Instant;
}

export interface Used {
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

export interface ImageFilesystem extends Used {
  readonly mountpoint: string | null;
  readonly time: Instant;
}

export interface RuntimeContainerReading {
  readonly containerId: string;
  readonly cpu: { readonly time: Instant; readonly usageCoreNanoSeconds?: number; readonly usageNanoCores?: number } | null;
  readonly memory: ({ readonly time: Instant } & Pick<MemoryStats, 'availableBytes' | 'usageBytes' | 'workingSetBytes' | 'rssBytes' | 'pageFaults' | 'majorPageFaults'>) | null;
  readonly swap: { readonly time: Instant; readonly swapAvailableBytes?: number; readonly swapUsageBytes?: number } | null;
  readonly writableLayer: { readonly time: Instant; readonly mountpoint: string | null; readonly usedBytes?: number; readonly inodesUsed?: number } | null;
}

/** A part of the node that is absent from an answer. */
export interface MissingPart {
  readonly part: 'root cgroup' | 'rootFs' | 'imageFs' | 'rlimit';
  readonly error: string;
}

export interface MeasuredSummary {
  readonly summary: StatsSummary;
  readonly missing: readonly MissingPart[];
}

export interface MeasuredVolume {
  /** The volume's name in the pod. */
  readonly name: string;
  readonly path: string;
  readonly how: 'tree' | 'file-system' | 'driver';
  /** The driver to ask; null: the node measures itself. */
  readonly driver: { readonly name: string; readonly volumeId: string } | null;
  readonly isEphemeral: boolean;
  /** A project quota may count its content; null: only a walk can. */
  readonly quota: QuotaPlace | null;
  /** Name of the claim; null: the volume is of none. */
  readonly claimName: string | null;
}

export interface ResourceNumbers {
  readonly cpu: { readonly atMillis: number; readonly usageCoreNanoSeconds: number } | null;
  readonly memory: { readonly atMillis: number; readonly workingSetBytes: number } | null;
  readonly swap: { readonly atMillis: number; readonly usageBytes: number /** null: not known. */; readonly availableBytes: number | null } | null;
}

export interface ResourceContainer extends ResourceNumbers {
  readonly name: string;
  /** Seconds since the epoch; 0 or less: not known. */
  readonly startedAtSeconds: number;
}

export interface ResourcePod extends ResourceNumbers {
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ResourceContainer[];
}

export interface NodeResources {
  /** null: unknown. */
  readonly node: ResourceNumbers | null;
  readonly pods: readonly ResourcePod[];
  readonly failed: boolean;
}

/** A pod's disk usage when it was last measured. */
export interface PodDiskReading {
  readonly containerLogs: ReadonlyMap<string, Used>;
  readonly podLogs: Used | null;
  readonly etcHosts: Used | null;
  readonly ephemeral: readonly VolumeStats[];
  readonly persistent: readonly VolumeStats[];
}

/** What was measured of the node and its pods, of one moment. */
export interface NodeSnapshot {
  readonly time: Instant;
  readonly listing: Part<RuntimeListing>;
  /** Of the runtime's containers, in its order. */
  readonly readings: Part<readonly RuntimeContainerReading[]>;
  /** Of images, as the runtime reports them. */
  readonly imageFilesystems: Part<readonly ImageFilesystem[]>;
  readonly cgroups: readonly { readonly path: string; readonly sample: CgroupSample }[];
  readonly root: Part<RootFilesystem>;
  /** By mount point. */
  readonly filesystems: Readonly<Record<string, FilesystemNumbers>>;
  /** Of a pod; null: not measured. */
  readonly diskUsage: (uid: string) => PodDiskReading | null;
}

/** What a summary says of the node besides its measurements. */
export interface SummaryNode {
  readonly name: string;
  readonly bootedAt: Instant;
  /** Cgroups of the node's own parts; '' where they have none. */
  readonly systemCgroups: readonly SystemCgroup[];
  /** Bytes of memory and swap: the root cgroup has no limits of its own. */
  readonly machine: { readonly memoryBytes: number; readonly swapBytes: number };
}

export interface SystemCgroup {
  readonly name: 'kubelet' | 'runtime' | 'misc' | 'pods';
  readonly path: string;
  /** Reported in place of the cgroup's creation; null: that one. */
  readonly startedAt: Instant | null;
}

export interface ProcessCounts {
  readonly maxPid: number;
  readonly processes: number;
}

/** A sandbox or container of the runtime. */
export interface KnownContainer {
  readonly id: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  /** '' for a sandbox. */
  readonly containerName: string;
  readonly isSandbox: boolean;
}
