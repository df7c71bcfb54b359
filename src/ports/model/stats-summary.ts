// The kubelet's stats summary (stats.k8s.io/v1alpha1), as in `/stats/summary`. A part without a measurement is absent.
// Eviction uses the same summary.
import type { Timestamp } from './object-meta.js';

export interface PsiData {
  /** Microseconds. */
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}
export interface PsiStats {
  readonly full: PsiData;
  readonly some: PsiData;
}
export interface CpuStats {
  readonly time?: Timestamp;
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds?: number;
  readonly psi?: PsiStats;
}
export interface MemoryStats {
  readonly time?: Timestamp;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PsiStats;
}
export interface IoStats {
  readonly time?: Timestamp;
  readonly psi?: PsiStats;
}
export interface SwapStats {
  readonly time?: Timestamp;
  readonly swapAvailableBytes?: number;
  readonly swapUsageBytes?: number;
}
export interface FsStats {
  readonly time?: Timestamp;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}
export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes?: number;
  readonly rxErrors?: number;
  readonly txBytes?: number;
  readonly txErrors?: number;
}
export interface NetworkStats extends Partial<InterfaceStats> {
  readonly time?: Timestamp;
  readonly interfaces?: readonly InterfaceStats[];
}
export interface ContainerStats {
  readonly name: string;
  readonly startTime?: Timestamp;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
  readonly swap?: SwapStats;
  readonly [other: string]: unknown;
}
export interface VolumeStats extends FsStats {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
  readonly volumeHealthStats?: { readonly abnormal: boolean };
}
export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTime?: Timestamp;
  readonly containers?: readonly ContainerStats[];
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  /** The wire's name of the list, in the singular. */
  readonly volume?: readonly VolumeStats[];
  readonly 'ephemeral-storage'?: FsStats;
  readonly process_stats?: { readonly process_count?: number };
  readonly swap?: SwapStats;
}
export interface NodeStats {
  readonly nodeName: string;
  readonly systemContainers?: readonly ContainerStats[];
  readonly startTime?: Timestamp;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  readonly fs?: FsStats;
  readonly runtime?: { readonly imageFs?: FsStats; readonly containerFs?: FsStats };
  readonly rlimit?: { readonly time?: Timestamp; readonly maxpid?: number; readonly curproc?: number };
  readonly swap?: SwapStats;
}
export interface StatsSummary {
  readonly node: NodeStats;
  readonly pods?: readonly PodStats[];
}
