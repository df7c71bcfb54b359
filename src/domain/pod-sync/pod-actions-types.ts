// The inputs and the results of pod actions.
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { ProbeResult } from '../status/probe-state.js';
import type { ActuatedResources, ContainerToUpdate } from './container-resize.js';
import type { KillReason } from './kill-grace.js';
import type { ContainerToReset } from './restart-all-containers.js';

export interface PodActionsInput {
  /** With its allocated resources. */
  readonly pod: Pod;
  readonly status: PodRuntimeStatus;
  /** The pod's containers are being restarted in place, all of them. */
  readonly restartAllContainers: boolean;
  /** Newest results by container id; absent: no result yet. */
  readonly livenessResults: ReadonlyMap<string, ProbeResult>;
  readonly startupResults: ReadonlyMap<string, ProbeResult>;
  readonly actuated: ActuatedResources;
}

export interface ContainerToKill {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  readonly reason: KillReason;
}

/** Indexes are into the lists of the pod's spec, in the order to start. */
export interface PodActions {
  /** Stop all running containers and every sandbox. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox to use, or the replaced one; `''` if none. */
  readonly sandboxId: string;
  /** Attempt number of the sandbox to create, or of the present one. */
  readonly attempt: number;
  readonly initContainersToStart: readonly number[];
  readonly containersToStart: readonly number[];
  readonly ephemeralContainersToStart: readonly number[];
  /** Sorted by id. */
  readonly containersToKill: readonly ContainerToKill[];
  /** Resizes in place, in the order to apply them: what shrinks first. */
  readonly containersToUpdate: { readonly cpu: readonly ContainerToUpdate[]; readonly memory: readonly ContainerToUpdate[] };
  /** A resize restarts a container, so the pod's own limits have to follow. */
  readonly updatePodResources: boolean;
  /** The pod-level resources differ from what the pod's cgroup was last given. */
  readonly updatePodLevelResources: boolean;
  /** In reset order. */
  readonly containersToReset: readonly ContainerToReset[];
}

/** The same, while it is made. */
export interface PodActionsDraft {
  killPod: boolean;
  createSandbox: boolean;
  initContainersToStart: number[];
  containersToStart: number[];
  ephemeralContainersToStart: number[];
  readonly containersToKill: Map<string, ContainerToKill>;
  readonly containersToUpdate: { readonly cpu: ContainerToUpdate[]; readonly memory: ContainerToUpdate[] };
  updatePodResources: boolean;
  updatePodLevelResources: boolean;
}
