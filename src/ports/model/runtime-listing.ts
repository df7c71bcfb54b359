// One cheap listing of the runtime: every pod with the ids and states of its sandboxes and containers, nothing decoded further.
// Relist compares listings; only pods that changed are inspected.
import type { Instant } from '../instant.js';
import type { Micros } from '../micros.js';
import type { ContainerRuntimeState, SandboxState } from './runtime-status.js';

export interface ListedSandbox {
  readonly id: string;
  readonly state: SandboxState;
  readonly attempt: number;
  readonly createdAt: Instant;
}

export interface ListedContainer {
  readonly id: string;
  /** The container's name in the pod spec. */
  readonly name: string;
  readonly state: ContainerRuntimeState;
  readonly sandboxId: string;
  /** How many containers of the name the pod had before this one. */
  readonly attempt: number;
  readonly createdAt: Instant;
}

/** A pod in the runtime. A container without its sandbox still lists its pod. */
export interface ListedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first: attempt, then creation time, then id. */
  readonly sandboxes: readonly ListedSandbox[];
  /** Newest first: attempt, then creation time, then id. */
  readonly containers: readonly ListedContainer[];
}

export interface RuntimeListing {
  /** Taken before the request, so that it is never newer than the listing. */
  readonly observedAt: Micros;
  /** Ordered by uid. */
  readonly pods: readonly ListedPod[];
  /** The number of sandboxes and containers without pod labels. They belong to other clients of the runtime and are never touched. */
  readonly foreign: number;
  /** Images of those containers in any state, by reference, name and id, unordered. Empty in a listing of one pod. */
  readonly foreignImages: readonly string[];
}
