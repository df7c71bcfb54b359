// What the container runtime reports about one pod, in the domain's terms. Pod actions, status computation, relist and garbage
// collection read it; the CRI adapter and the simulated runtime write it.
// Invariant: sandboxes and containers are sorted newest first (attempt, then creation time, then id), so "the status of container X" is the first match by name.
import type { Instant } from '../instant.js';
import type { Micros } from '../micros.js';
import type { Quantity } from './object-meta.js';

export type SandboxState = 'ready' | 'notReady';
export type ContainerRuntimeState = 'created' | 'running' | 'exited' | 'unknown';
/** The network namespace of a sandbox: its own (`pod`) or the host's (`node`). */
export type NetworkMode = 'pod' | 'node';

export interface SandboxStatus {
  readonly id: string;
  /** 0 for the pod's first sandbox, +1 for each that replaced one. */
  readonly attempt: number;
  readonly state: SandboxState;
  readonly networkMode: NetworkMode;
  /** Whether the runtime sent a network object at all; a ready sandbox without one is taken as connected. */
  readonly hasNetwork: boolean;
  /** The primary address in that object; `''` if it has none, null without such an object. */
  readonly ip: string | null;
  readonly createdAt: Instant;
}

/** A container's resources as the runtime reports them; null if not reported. */
export interface RuntimeContainerResources {
  readonly cpuRequest: Quantity | null;
  readonly cpuLimit: Quantity | null;
  readonly memoryRequest: Quantity | null;
  readonly memoryLimit: Quantity | null;
}

/** The Linux identity the container's first process got. */
export interface RuntimeContainerUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups: readonly number[];
}

export interface RuntimeContainerStatus {
  readonly id: string;
  readonly sandboxId: string;
  /** The container's name in the pod spec. */
  readonly name: string;
  readonly state: ContainerRuntimeState;
  readonly createdAt: Instant;
  /** null while the container was never started. */
  readonly startedAt: Instant | null;
  /** null unless exited. */
  readonly finishedAt: Instant | null;
  /** 0 unless exited. */
  readonly exitCode: number;
  readonly reason: string;
  /** The runtime's message with the termination message appended. */
  readonly message: string;
  /** From the container's annotation; 0 when missing. */
  readonly restartCount: number;
  /** The hash annotation's text: lower-case hex without padding, `''` when missing. */
  readonly hash: string;
  /** The image reference in the container's configuration. */
  readonly image: string;
  /** The runtime's reference of the image that runs, usually a digest. */
  readonly imageRef: string;
  /** The image's id in the runtime's store; `''` from runtimes that don't report it. */
  readonly imageId: string;
  readonly resources: RuntimeContainerResources | null;
  readonly user: RuntimeContainerUser | null;
  /** The signal with which the runtime stops it, as in pod specs (`SIGRTMIN+3`). Absent if the runtime doesn't report it. */
  readonly stopSignal?: string;
  /** Left out for a container without a preStop hook. */
  readonly preStop?: AnnotatedPreStop;
}

/** A container's preStop hook from its annotations, for pods whose object is gone. JSON, unchecked; `''` if missing. */
export interface AnnotatedPreStop {
  readonly handler: string;
  /** The container's ports, which a handler may name. */
  readonly ports: string;
}

export interface PodRuntimeStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The pod's addresses as read from the newest sandbox while it is ready; empty otherwise. */
  readonly ips: readonly string[];
  readonly sandboxes: readonly SandboxStatus[];
  readonly containers: readonly RuntimeContainerStatus[];
  /** The time of the request: taken before the lists, so that it is never newer than they are. */
  readonly observedAt: Micros;
}
