// What a run of a pod operation needs of the agent around it. The agent implements it; tests may give less.
import type { Micros } from '../../ports/micros.js';
import type { Container } from '../../ports/model/container.js';
import type { ContainerConfig } from '../../ports/model/container-config.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { SandboxConfig } from '../../ports/model/sandbox-config.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { ImagePullBackoff } from '../backoff/image-pull-backoff.js';
import type { KeyedBackoff } from '../backoff/keyed-backoff.js';
import type { Turn } from '../kernel/machine.js';
import type { ActuatedResources } from './container-resize.js';
import type { ProbeResult } from './pod-actions-types.js';
import type { SyncRun } from './sync-run.js';

export type Configured<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

/** What a container's configuration is made of, besides the pod and the node. */
export interface ContainerConfigRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  readonly podIps: readonly string[];
  /** What the image reference in the spec stands for in the runtime. */
  readonly imageRef: string;
  readonly image: RuntimeImage | null;
  /** '' when the container has no termination message path, or its file could not be made. */
  readonly terminationFile: string;
  readonly status: PodRuntimeStatus;
}

/** Turns specs into what the runtime is told; pure. A message says what is wrong with the spec. */
export interface RuntimeConfigs {
  sandbox(pod: Pod, attempt: number): Configured<{ readonly config: SandboxConfig; readonly runtimeHandler: string }>;
  container(request: ContainerConfigRequest): Configured<ContainerConfig>;
  /** The text of the pod's hosts file; null when the pod gets none. */
  hosts(pod: Pod, podIps: readonly string[]): string | null;
}

export interface SyncSettings {
  /** Base of all deadlines of runtime calls. */
  readonly runtimeRequestTimeout: Micros;
  readonly podLogsDirectory: string;
  /** Where log collectors find symlinks; null: none are made. */
  readonly containerLogLinks: string | null;
  /** The pod cgroup's name, or null when pods get no cgroups of their own. */
  podCgroup(pod: Pod): readonly string[] | null;
}

export interface SyncContext {
  readonly turn: Turn<AgentOperations>;
  readonly settings: SyncSettings;
  readonly configs: RuntimeConfigs;
  readonly crashLoop: KeyedBackoff;
  readonly imagePulls: ImagePullBackoff;
  /** Newest probe results by container id. */
  readonly probeResults: { readonly liveness: ReadonlyMap<string, ProbeResult>; readonly startup: ReadonlyMap<string, ProbeResult> };
  /** What was last given to the pod's cgroup and its containers. */
  actuatedResources(run: SyncRun): ActuatedResources;
  /** The status computed last for the pod. */
  previousStatus(run: SyncRun): PodStatus;
  isTerminationRequested(uid: string): boolean;
  /** Records an event about the pod, or about one of its containers. */
  event(pod: Pod, containerName: string | null, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Remembers why a container could not be started (its waiting reason), or, with null, that it was. */
  startResult(uid: string, containerName: string, failure: { readonly reason: string; readonly message: string } | null): void;
  /** The sandbox and its network are up: before images are pulled. */
  sandboxReady(run: SyncRun): void;
}

/** The address that the answers of a pod's run come back to. */
export function podAddress(uid: string): { readonly machine: 'pod'; readonly key: string } {
  return { machine: 'pod', key: uid };
}
