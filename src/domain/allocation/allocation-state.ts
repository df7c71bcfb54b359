// Allocated and actuated resources of the node's pods, with pending resizes, as data.
//
// | field      | is                                                             | on disk as             |
// |------------|----------------------------------------------------------------|------------------------|
// | desired    | a pod's request, if it differs from its allocation             | (the API has it)       |
// | allocated  | its allocation: at its admission, or by a resize               | `allocated_pods_state` |
// | actuated   | the last resources set on its containers and the whole pod     | `actuated_pods_state`  |
//
// Invariant: nothing is admitted before both files have been read; an entry is replaced, never changed in place.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { actuatedPodsCheckpointName, allocatedPodsCheckpointName, type PodResourceEntry } from '../checkpoints/pod-resources-checkpoint.js';
import { forgetUnsaved, isUnsaved, newStateFileWriter, type StateFileWriter } from '../checkpoints/state-file-writer.js';
import type { View } from '../kernel/view.js';
import type { ResizeGates } from './allocated-pod.js';
import { noResize, type ResizeConditions } from './resize-conditions.js';

export const allocationMachine = 'allocation';

/** What made the agent try resizes that wait: the label `retry_trigger`. */
export type RetryTrigger = 'pods_added' | 'pod_updated' | 'pods_removed' | 'pod_terminated' | 'pod_resized' | 'periodic_retry';

export interface CheckpointFile {
  /** By the checksum. */
  readonly writer: StateFileWriter<number>;
  /** false: the read is in progress, or has failed. */
  isRead: boolean;
  /** Something was put into it that isn't on disk; what only went is taken out with the next change. */
  dirty: boolean;
  /** Runs that wait for the write in progress. */
  readonly waiting: Set<string>;
}

/** For metrics. */
export interface ResizeCounters {
  /** `<resource> <requests|limits> <add|remove|increase|decrease>`. */
  readonly requested: Map<string, number>;
  readonly infeasible: Map<string, number>;
  readonly deferredAccepted: Map<RetryTrigger, number>;
}

export interface AllocationState {
  readonly gates: ResizeGates;
  readonly allocated: Map<string, PodResourceEntry>;
  readonly actuated: Map<string, PodResourceEntry>;
  readonly desired: Map<string, Pod>;
  /** uids of pods that wait for more, or for less, first to try first. */
  pending: string[];
  readonly conditions: Map<string, ResizeConditions>;
  /** Pods that are being killed to make room for a resize, by its pod's uid. */
  readonly victims: Map<string, Set<string>>;
  /** Pods that were resized under this agent, and when their containers were last given something; -1: not yet. What their status showed before is not so any more. */
  readonly resized: Map<string, Micros>;
  /** When what waits is tried again if nothing happens before. */
  retryAt: Micros;
  /** The time of the current wake-up. */
  plannedAt: Micros | null;
  readonly files: { readonly allocated: CheckpointFile; readonly actuated: CheckpointFile };
  readonly counters: ResizeCounters;
}

export function newAllocation(gates: ResizeGates): AllocationState {
  return {
    gates,
    allocated: new Map(),
    actuated: new Map(),
    desired: new Map(),
    pending: [],
    conditions: new Map(),
    victims: new Map(),
    resized: new Map(),
    retryAt: 0,
    plannedAt: null,
    files: { allocated: newFile(allocatedPodsCheckpointName, 'allocated'), actuated: newFile(actuatedPodsCheckpointName, 'actuated') },
    counters: { requested: new Map(), infeasible: new Map(), deferredAccepted: new Map() },
  };
}

/** After a failed write pods continue, as with the Go kubelet. */
function newFile(name: string, key: string): CheckpointFile {
  const writer = newStateFileWriter<number>(name, { machine: allocationMachine, key }, null, { isRequired: false });
  return { writer, isRead: false, dirty: false, waiting: new Set() };
}

export function isAllocationKnown({ files }: View<AllocationState>): boolean {
  return files.allocated.isRead && files.actuated.isRead;
}

/** Whether a pod's allocation is on disk, or couldn't be written. */
export function isSaved({ writer }: CheckpointFile, uid: string): boolean {
  return !isUnsaved(writer, uid);
}

/** Forgets a removed pod in memory; the files follow with their next change. */
export function forgetAllocation(state: AllocationState, uid: string): void {
  for (const kept of [state.allocated, state.actuated, state.desired, state.conditions, state.victims, state.resized]) kept.delete(uid);
  for (const { writer, waiting } of [state.files.allocated, state.files.actuated]) {
    forgetUnsaved(writer, uid);
    waiting.delete(uid);
  }
  const at = state.pending.indexOf(uid);
  if (at >= 0) state.pending.splice(at, 1);
}

export function conditionsOf({ conditions }: AllocationState, uid: string): ResizeConditions {
  return conditions.get(uid) ?? noResize;
}

export function setConditions({ conditions }: AllocationState, uid: string, next: ResizeConditions): void {
  if (next === noResize) conditions.delete(uid);
  else conditions.set(uid, next);
}
