// One run of a pod worker's operation (syncPod, syncTerminatingPod, ...) as data: its inputs, the remaining steps, and
// its failures so far. A run plans from the state at its beginning, performs the plan step by step, and ends at the first
// step that ends it; the next run plans from the runtime's new state. So no plan outlives an unexpected change.
//
// Invariants: a step sends commands only while the run is not cancelled; the run ends only when none of its commands is in flight.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { PodOperation } from '../pod-workers/effects.js';
import type { StartFailure } from '../status/container-statuses.js';
import type { HostIds } from '../user-namespaces/user-namespaces.js';
import type { ActionResult } from './action-result.js';
import type { ContainerStart } from './container-start-state.js';
import type { ImageVolumePulls, ImageVolumeResult } from './image-volume-state.js';
import type { PodKill } from './pod-kill-state.js';
import type { ResizeActuation } from './resize-state.js';
import type { VolumeWait } from './volume-wait.js';

export interface ContainerToRemove {
  readonly containerId: string;
  readonly containerName: string;
  readonly restartCount: number;
  readonly keepLogs: boolean;
}

export type SyncStep =
  /** Saves the pod's allocation to disk before any other step. */
  | { readonly kind: 'allocation' }
  /** Checks for the pod's cgroup; kills containers that run outside of it before it is created. */
  | { readonly kind: 'cgroup'; phase: 'check' | 'kill' | 'ensure'; kill: PodKill | null }
  | { readonly kind: 'directories'; phase: 'ask' | 'done' }
  | { readonly kind: 'volumes'; readonly wait: VolumeWait }
  /** Decides on the steps that follow. */
  | { readonly kind: 'plan' }
  | { readonly kind: 'kill'; readonly kill: PodKill }
  | { readonly kind: 'remove'; readonly containers: readonly ContainerToRemove[]; phase: 'ask' | 'logs' | 'containers' | 'done' }
  /** Waits until the pod's claims are prepared or unprepared. `begun`: the operation was requested. */
  | { readonly kind: 'claims'; readonly to: 'prepare' | 'unprepare'; begun: boolean }
  /** Has the ids of the pod's user namespace on disk before anything is made with them. `fresh`: for a sandbox that is to be made. */
  | { readonly kind: 'userNamespace'; readonly fresh: boolean }
  | { readonly kind: 'sandbox'; readonly attempt: number; phase: 'run' | 'inspect' | 'done' | 'failed'; sandboxId: string }
  /** Gets the images that the containers to start mount as volumes. */
  | { readonly kind: 'imageVolumes'; readonly pulls: ImageVolumePulls }
  | { readonly kind: 'start'; readonly start: ContainerStart }
  /** Gives running containers, and the pod as a whole, other resources. */
  | { readonly kind: 'resize'; readonly resize: ResizeActuation }
  /** Reads the pod from the runtime after all its containers were stopped. */
  | { readonly kind: 'verify'; phase: 'ask' | 'done' }
  | { readonly kind: 'unmount'; readonly wait: VolumeWait }
  | { readonly kind: 'destroyCgroup'; phase: 'ask' | 'done' };

export interface SyncRun {
  readonly uid: string;
  readonly operation: PodOperation;
  readonly pod: Pod;
  /** The last observed status; the sandbox's address is added once it is known. */
  status: PodRuntimeStatus;
  /** The sandbox for new containers; '' until it exists. */
  sandboxId: string;
  sandboxAttempt: number;
  /** Of a pod with its own user namespace, once they are on disk. */
  hostIds: HostIds | null;
  /** By volume: the image that is mounted, or the error. */
  readonly imageVolumes: Map<string, ImageVolumeResult>;
  steps: SyncStep[];
  /** Commands in flight. */
  outstanding: number;
  cancelled: boolean;
  readonly results: ActionResult[];
  /** Set when the run ends before its last step: an error that belongs to no action. */
  failure: string | null;
  /** `failure` is that the runtime's network is missing. */
  isNetworkMissing: boolean;
  podIsTerminal: boolean;
  readonly startedAt: Micros;
  /** The state at the start: the runtime's containers, and why the last start of each container failed. */
  readonly before: { readonly containers: PodRuntimeStatus['containers']; readonly failures: ReadonlyMap<string, StartFailure> | null };
  /** When the first read of its pull secrets began; null: not yet. */
  pullSecretsSince: Micros | null;
}

/** The kill that a step is carrying out; null: it kills nothing now. */
export function killOf(step: SyncStep | undefined): PodKill | null {
  switch (step?.kind) {
    case 'kill':
      return step.kill;
    case 'cgroup':
      return step.phase === 'kill' ? step.kill : null;
    case 'start':
      return step.start.phase === 'kill' ? step.start.kill : null;
    default:
      return null;
  }
}

export type StepOutcome = 'waiting' | 'done' | 'ended';
