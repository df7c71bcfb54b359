// The values of the cgroups above the pods', and the progress of writing them.
import type { Micros } from '../../../ports/micros.js';
import type { CgroupValues } from '../../../ports/model/cgroup-values.js';
import type { Pod } from '../../../ports/model/pod.js';
import { emptyCgroupConfig } from '../../cgroups/cgroup-config.js';
import { type ClassSums, newClassSums } from '../../cgroups/class-cgroups.js';
import type { QosClass } from '../../qos/qos-class.js';

export interface NodeCgroupSettings {
  /** The values of the cgroup of all pods: the allocatable resources, or the whole machine. */
  readonly pods: CgroupValues;
  /** Sizes of huge pages that the host has. Pods are limited in each, also to none. */
  readonly hugePageBytes: readonly bigint[];
  /** The share of a pod class's requested memory that is protected from lower classes, in percent; null: none. */
  readonly reservedMemoryPercent: number | null;
  /** The memory of all pods together, without reservations. */
  readonly allocatableMemoryBytes: bigint;
}

export const defaultNodeCgroups: NodeCgroupSettings = { pods: emptyCgroupConfig, hugePageBytes: [], reservedMemoryPercent: null, allocatableMemoryBytes: 0n };

/** One of the three. Guaranteed pods lie in the cgroup of all pods. */
export interface NodeCgroup {
  /** It was made, by this agent or an earlier one. */
  made: boolean;
  /** The values written last; null: none, or they must be written again in any case. */
  written: string | null;
  /** Those that are being written; null: none are. */
  writing: string | null;
  /** After a failure; null: none. */
  retryAt: Micros | null;
}

export interface NodeCgroupsState {
  /** Pods that the sums count, by uid. */
  readonly counted: Map<string, Pod>;
  readonly sums: ClassSums;
  /** Pods that may count for more, less or nothing now. */
  readonly changed: Set<string>;
  /** The sums may have changed since the last comparison. */
  stale: boolean;
  readonly cgroups: Readonly<Record<QosClass, NodeCgroup>>;
  /** Nothing is written before. */
  nextAt: Micros;
  /** The enforcement of all pods' limits is reported once. */
  reportedEnforced: boolean;
  /** Pods whose cgroups this agent has set. */
  readonly podsWritten: Set<string>;
}

export function newNodeCgroups(): NodeCgroupsState {
  const cgroup = (): NodeCgroup => ({ made: false, written: null, writing: null, retryAt: null });
  return {
    counted: new Map(),
    sums: newClassSums(),
    changed: new Set(),
    stale: true,
    cgroups: { Guaranteed: cgroup(), Burstable: cgroup(), BestEffort: cgroup() },
    nextAt: 0,
    reportedEnforced: false,
    podsWritten: new Set(),
  };
}
