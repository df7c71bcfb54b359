// The interface of a run of a pod operation to the agent. The agent implements it; tests may implement a part.

import type { Micros } from '../../ports/micros.js';
import type { CgroupValues } from '../../ports/model/cgroup-values.js';
import type { Container, ResourceRequirements } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import type { RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import type { LinuxContainerResources } from '../../ports/model/sandbox-config.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { UserNamespaceFile } from '../../ports/outbound/pod-files.js';
import type { ApiData } from '../api-data/api-data.js';
import type { KeyedBackoff } from '../backoff/keyed-backoff.js';
import type { BlockVolume } from '../containers/block-devices.js';
import type { ContainerEnvSources } from '../containers/container-config.js';
import type { MountedVolume } from '../containers/mounts.js';
import type { NodeFacts } from '../containers/node-facts.js';
import type { RuntimeConfigs } from '../containers/runtime-configs.js';
import type { EnsuredImage, ImageRequest } from '../images/image-manager-state.js';
import type { Turn } from '../kernel/machine.js';
import type { ProbeResult } from '../status/probe-state.js';
import type { RangeOfPod } from '../user-namespaces/user-namespaces.js';
import type { CpuSet } from '../values/cpu-set.js';
import type { AttachmentLimit } from '../volume-manager/attach-limits.js';
import type { ReleaseState, VolumesState } from '../volume-manager/volume-waiting.js';
import type { ActuatedResources } from './container-resize.js';
import type { SyncRun } from './sync-run.js';

export interface SyncSettings {
  /** Base of all deadlines of runtime calls. */
  readonly runtimeRequestTimeout: Micros;
  readonly podLogsDirectory: string;
  /** The directory of the symlinks for log collectors; null: none. */
  readonly containerLogLinks: string | null;
  /** The pod cgroup's name, or null when pods get no cgroups of their own. */
  podCgroup(pod: Pod): readonly string[] | null;
  /** What that cgroup is set to. */
  podCgroupValues(pod: Pod): CgroupValues;
  /** Whether this agent set it. An earlier agent may have been killed between creating and setting it. */
  isPodCgroupSet(uid: string): boolean;
}

/** The volumes of the pod that a run is about. */
export interface VolumesOfPods {
  /** Mounts the pod's volumes; mounted volumes follow its object. */
  want(uid: string, pod: Pod): void;
  /** @param waited for how long the run has waited for them */
  state(uid: string, waited: Micros): VolumesState;
  /** Whether volumes can't be attached since the node is full; `looking`: the run resumes when that is known. */
  attachmentLimit(uid: string): AttachmentLimit;
  /** Updates the volumes that show data. */
  refresh(uid: string): void;
  /** By their names in the pod, which containers use. */
  mounted(uid: string): Readonly<Record<string, MountedVolume>>;
  /** Raw block volumes, by their names in the pod. */
  devices(uid: string): Readonly<Record<string, BlockVolume>>;
  /** Groups that own the pod's persistent volumes. */
  groups(uid: string): readonly number[];
  /** The pod's containers have exited: unmounts all its volumes. */
  release(uid: string): void;
  /** `mounted`: every volume is released. */
  releaseState(uid: string, waited: Micros): ReleaseState;
}

/** Which host ids pods in user namespaces of their own have. */
export interface RangesOfPods {
  /** The files on disk have been read. */
  readonly known: boolean;
  taken(files: readonly UserNamespaceFile[]): void;
  /** @param fresh its sandbox will be created; otherwise it exists */
  ofPod(uid: string, fresh: boolean): RangeOfPod;
  written(uid: string): void;
}

/** The CPUs and NUMA nodes of a new container. */
export type Pinning =
  /** Its allocation isn't on disk yet; the run resumes when it is. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'failed'; readonly message: string }
  | {
      readonly kind: 'known';
      /** The CPUs it may run on; empty: any. */
      readonly cpus: CpuSet;
      readonly resources: Pick<LinuxContainerResources, 'cpusetCpus' | 'cpusetMems'>;
      /** It has exclusive CPUs, which a quota would only throttle. */
      readonly liftsQuota: boolean;
    };

/** The CPUs and NUMA nodes that containers are pinned to. */
export interface PinningOfPods {
  /** Whether the pod has no CPU quota, because a container of it has exclusive CPUs. */
  liftsPodQuota(uid: string): boolean;
  ofContainer(uid: string, containerName: string): Pinning;
  /** The container was created with these CPUs, and is about to start. */
  created(pod: Pod, container: Container, cpus: CpuSet): void;
}

export type ClaimProgress = { readonly kind: 'waiting' } | { readonly kind: 'done'; readonly error: string | null };

/** Resource claims. Runs that wait for them resume when they are done. */
export interface ClaimsOfPods {
  /** False: an earlier operation of the pod is in progress, and nothing was started. */
  prepare(pod: Pod): boolean;
  /** As `prepare`. */
  unprepare(uid: string): boolean;
  /** Of the current operation; its end is returned once. */
  progress(uid: string): ClaimProgress;
  /** Names of the devices that the container has of its pod's claims. */
  cdiDevices(pod: Pod, container: Container): { readonly ok: true; readonly value: readonly string[] } | { readonly ok: false; readonly message: string };
  /** Stops waiting for the pod's claims. */
  leave(uid: string): void;
}

/** Allocated and actuated resources of pods. */
export interface AllocationOfPods {
  /** Whether the pod's allocation is on disk, or can't be written; otherwise its run resumes when that is known. */
  isGrantSaved(uid: string): boolean;
  /** The same for the actuated resources of its containers. */
  areActuatedSaved(uid: string): boolean;
  containerActuated(uid: string, containerName: string, resources: ResourceRequirements): void;
  /** The pod-level resources of the spec were actuated. */
  podActuated(uid: string, resources: ResourceRequirements | null): void;
  /** The pod with the actuated resources of its containers and its cgroup. */
  actuatedPod(pod: Pod): Pod;
}

export interface SyncContext {
  /** When the container ended; null: it has not. */
  endedAt(uid: string, container: RuntimeContainerStatus): Micros | null;
  readonly turn: Turn<AgentOperations>;
  readonly settings: SyncSettings;
  readonly configs: RuntimeConfigs;
  readonly nodeFacts: NodeFacts;
  /** null: standalone. */
  readonly apiData: ApiData | null;
  readonly volumes: VolumesOfPods;
  readonly userNamespaces: RangesOfPods;
  readonly pinning: PinningOfPods;
  /** null: this node has no claims. */
  readonly claims: ClaimsOfPods | null;
  readonly allocation: AllocationOfPods;
  readonly crashLoop: KeyedBackoff;
  /** Newest probe results by container id. */
  readonly probeResults: { readonly liveness: ReadonlyMap<string, ProbeResult>; readonly startup: ReadonlyMap<string, ProbeResult> };
  /** The actuated resources of the pod's cgroup and its containers. */
  actuatedResources(run: SyncRun): ActuatedResources;
  /** The status computed last for the pod. */
  previousStatus(run: SyncRun): PodStatus;
  isTerminationRequested(uid: string): boolean;
  /** The pod's first address; '' for none. */
  podIp(uid: string): string;
  /** Begins to ensure an image; the pod's run resumes when `takeImage` has a result. */
  ensureImage(request: ImageRequest): number;
  /** Its result, once; null: not yet. */
  takeImage(id: number): EnsuredImage | null;
  /** Stops waiting for it. */
  leaveImage(id: number): void;
  /** Records an event about the pod, or about one of its containers. */
  event(pod: Pod, containerName: string | null, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** The pod can't run here after all: it ends as one that was refused. */
  refuse(run: SyncRun, reason: string, message: string): void;
  /** Records a warning about the node itself. */
  nodeWarning(reason: string, message: string): void;
  /** Remembers why a container could not be started (its waiting reason), or, with null, that it was. */
  startResult(uid: string, containerName: string, failure: { readonly reason: string; readonly message: string } | null): void;
  /** Sources for variables of the pod's containers. */
  envSources(run: SyncRun): ContainerEnvSources;
  /** The pod's cgroup exists and is set. */
  podCgroupSet(run: SyncRun): void;
  /** The cgroup's values are outdated: the next sync sets all of them. */
  podCgroupBehind(run: SyncRun): void;
  /** The pod's cgroup, directories and volumes exist. */
  podPrepared(run: SyncRun): void;
  /** The sandbox and its network are up: before images are pulled. */
  sandboxReady(run: SyncRun): void;
}

export const podMachine = 'pod';

/** The address that the answers of a pod's run come back to. */
export function podAddress(uid: string): { readonly machine: typeof podMachine; readonly key: string } {
  return { machine: podMachine, key: uid };
}
