// API container statuses from the runtime's report, the previous statuses, and failed container starts.
// Invariants: one status per container of the spec, and no other; init statuses in spec order, the rest sorted by name;
// a container that is known to have run never appears as if it hadn't.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerState, ContainerStateTerminated, ContainerStatus, VolumeMountStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import type { VolumeMount } from '../../ports/model/volume.js';
import { byCodeUnits } from '../values/text-order.js';
import { formatRfc3339 } from '../values/time.js';
import { canonicalResourceList, containerResources } from './container-resources.js';
import { isRestartableInit, restartingAllContainers, shouldContainerBeRestarted } from './restart-rules.js';
import { findContainerStatus } from './runtime-lookup.js';

export type ContainerKind = 'regular' | 'init' | 'ephemeral';

/** Why the last start of a container failed: what users see as waiting reason and message. */
export interface StartFailure {
  readonly reason: string;
  readonly message: string;
}

export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly runtime: PodRuntimeStatus;
  readonly kind: ContainerKind;
  /** The statuses of this kind before these. */
  readonly previous: readonly ContainerStatus[];
  /** By container name; the caller drops an entry as soon as a start succeeds. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
  /** The pod is restarting all its containers in place. */
  readonly restartingAll: boolean;
  readonly runtimeSupportsRecursiveReadOnly: boolean;
  /** The gate ContainerStopSignals: statuses report each container's stop signal. */
  readonly containerStopSignals: boolean;
  /** Prefix of container ids in the API, e.g. `containerd`. */
  readonly runtimeType: string;
}

/** The status of a terminated container whose exit is unknown; 137 reads as killed. */
const unknownExitCode = 137;
const statusUnknown = 'ContainerStatusUnknown';
export const wasRunningMessage = 'The container could not be located when the pod was deleted.  The container used to be Running';
const removedMessage = 'The container is removed because RestartAllContainers in place';
export const notLocatedMessage = 'The container could not be located when the pod was terminated';
const inferredCompletedMessage = 'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';

/** How an ended container reads when its status was lost. */
export function unknownTermination(message: string, reason: string = statusUnknown): ContainerStateTerminated {
  return { exitCode: unknownExitCode, reason, message };
}

export function containerStatuses(input: ContainerStatusesInput): readonly ContainerStatus[] {
  const containers = containersOf(input.pod, input.kind);
  const previousByName = new Map(input.previous.map((status) => [status.name, status]));
  const statuses = containers.map((container) => {
    const previous = previousByName.get(container.name) ?? null;
    const instances = input.runtime.containers.filter((candidate) => candidate.name === container.name);
    const found = instances[0] === undefined ? missingContainer(input, container, previous) : presentContainer(input, container, instances, previous);
    return withStartFailure(input, container, found);
  });
  if (input.kind === 'init') return statuses;
  return statuses.sort((a, b) => byCodeUnits(a.name, b.name));
}

function containersOf(pod: Pod, kind: ContainerKind): readonly Container[] {
  if (kind === 'regular') return pod.spec.containers;
  return (kind === 'init' ? pod.spec.initContainers : pod.spec.ephemeralContainers) ?? [];
}

/** `PodInitializing` for containers of every kind as soon as the pod has any init container. */
function defaultStatus(input: ContainerStatusesInput, container: Container, previous: ContainerStatus | null): ContainerStatus {
  const volumeMounts = (container.volumeMounts ?? []).map((mount) => volumeMountStatus(mount, input.runtimeSupportsRecursiveReadOnly));
  return {
    name: container.name,
    state: { waiting: { reason: (input.pod.spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: previous?.lastState ?? {},
    ready: false,
    restartCount: previous?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    ...(volumeMounts.length > 0 ? { volumeMounts } : {}),
  };
}

/** The runtime has no instance: uses the last reported status. */
function missingContainer(input: ContainerStatusesInput, container: Container, previous: ContainerStatus | null): ContainerStatus {
  const fallback = previous?.state?.terminated !== undefined ? previous : defaultStatus(input, container, previous);
  if (previous === null) return fallback;
  if (input.restartingAll && previous.state?.waiting === undefined) {
    return {
      ...fallback,
      state: { waiting: { reason: restartingAllContainers, message: removedMessage } },
      lastState: { ...fallback.lastState, terminated: unknownTermination(removedMessage, restartingAllContainers) },
      restartCount: previous.restartCount + 1,
    };
  }
  if (previous.state?.running === undefined || fallback.lastState?.terminated !== undefined || fallback.state?.waiting === undefined) return fallback;
  // It ran: without a last termination the pod would fall back to Pending.
  return {
    ...fallback,
    lastState: { ...fallback.lastState, terminated: unknownTermination(wasRunningMessage) },
    // A deleted pod starts nothing again; otherwise this counts as the restart that is about to come.
    restartCount: fallback.restartCount + (input.pod.metadata.deletionTimestamp === undefined ? 1 : 0),
  };
}

/** The newest instance is the status; the previous one, in any state, is the last state. */
function presentContainer(input: ContainerStatusesInput, container: Container, instances: readonly RuntimeContainerStatus[], previous: ContainerStatus | null): ContainerStatus {
  const status = convert(input, container, instances[0]!, previous);
  const older = instances[1];
  return older === undefined ? status : { ...status, lastState: convert(input, container, older, previous).state ?? {} };
}

function convert(input: ContainerStatusesInput, container: Container, instance: RuntimeContainerStatus, previous: ContainerStatus | null): ContainerStatus {
  const containerID = `${input.runtimeType}://${instance.id}`;
  const state = convertState(instance, containerID, previous, input.restartingAll);
  const resources = containerResources(container, instance, containerID, previous);
  const requests = container.resources?.requests;
  const lastTermination = carriedTermination(containerID, previous);
  return {
    name: instance.name,
    state,
    lastState: lastTermination === undefined ? {} : { terminated: lastTermination },
    ready: false,
    restartCount: restartCountOf(instance, state, previous),
    image: instance.image,
    imageID: instance.imageRef,
    containerID,
    // A restarted kubelet has no results of startup probes that passed before: the status keeps them.
    ...(instance.state === 'running' && previous?.started !== undefined ? { started: previous.started } : {}),
    ...(requests === undefined ? {} : { allocatedResources: canonicalResourceList(requests) }),
    ...(resources === null ? {} : { resources }),
    ...(previous?.volumeMounts === undefined ? {} : { volumeMounts: previous.volumeMounts }),
    ...(instance.user === null ? {} : { user: { linux: linuxUser(instance.user) } }),
    ...(input.containerStopSignals && instance.stopSignal !== undefined ? { stopSignal: instance.stopSignal } : {}),
  };
}

function convertState(instance: RuntimeContainerStatus, containerID: string, previous: ContainerStatus | null, restartingAll: boolean): ContainerState {
  if (instance.state === 'running') return { running: instance.startedAt === null ? {} : { startedAt: formatRfc3339(instance.startedAt) } };
  if (instance.state === 'exited') {
    return {
      terminated: {
        exitCode: instance.exitCode,
        ...(instance.reason === '' ? {} : { reason: instance.reason }),
        ...(instance.message === '' ? {} : { message: instance.message }),
        ...(instance.startedAt === null ? {} : { startedAt: formatRfc3339(instance.startedAt) }),
        ...(instance.finishedAt === null ? {} : { finishedAt: formatRfc3339(instance.finishedAt) }),
        containerID,
      },
    };
  }
  if (instance.state === 'unknown' && previous?.state?.running !== undefined) {
    // It ran and can't be seen any more. Waiting would let a run-once pod run twice.
    return { terminated: unknownTermination(notLocatedMessage, restartingAll ? restartingAllContainers : statusUnknown) };
  }
  return { waiting: {} };
}

/** From the container's annotation, which restarts at 0 when all containers were removed; so it never falls below the reported count. */
function restartCountOf(instance: RuntimeContainerStatus, state: ContainerState, previous: ContainerStatus | null): number {
  if (previous === null) return instance.restartCount;
  if (instance.state === 'unknown' && state.terminated !== undefined) return previous.restartCount + 1;
  if (instance.state === 'running' && previous.state?.terminated !== undefined && previous.restartCount >= instance.restartCount) return previous.restartCount + 1;
  return Math.max(instance.restartCount, previous.restartCount);
}

/** The last termination as far as reports before know it: the runtime may have removed the instance. */
function carriedTermination(containerID: string, previous: ContainerStatus | null): ContainerStateTerminated | undefined {
  const ended = previous?.state?.terminated;
  if (ended !== undefined && previous?.containerID !== containerID) return ended;
  return previous?.lastState?.terminated;
}

/** What only the coming sync knows: an init container that must have completed, or a start that keeps failing. */
function withStartFailure(input: ContainerStatusesInput, container: Container, status: ContainerStatus): ContainerStatus {
  if (input.kind === 'init') {
    const newest = findContainerStatus(input.runtime, container.name);
    if (newest !== null && newest.state === 'exited' && newest.exitCode === 0) return status;
    // Its status was lost (a static pod's always is), but regular containers are only created after it completed.
    if (newest === null && !isRestartableInit(container) && status.state?.waiting !== undefined && anyRegularContainerCreated(input)) {
      return { ...status, state: { terminated: { exitCode: 0, reason: 'Completed', message: inferredCompletedMessage } } };
    }
  }
  const failure = input.startFailures.get(container.name);
  if (failure === undefined || !shouldContainerBeRestarted(input.pod, container, input.runtime)) return status;
  return {
    ...status,
    ...(status.state?.terminated === undefined ? {} : { lastState: status.state }),
    state: { waiting: { reason: failure.reason, ...(failure.message === '' ? {} : { message: failure.message }) } },
  };
}

function anyRegularContainerCreated(input: ContainerStatusesInput): boolean {
  return input.pod.spec.containers.some((container) => {
    const newest = findContainerStatus(input.runtime, container.name);
    return newest !== null && newest.state !== 'unknown';
  });
}

function volumeMountStatus(mount: VolumeMount, runtimeSupportsRecursiveReadOnly: boolean): VolumeMountStatus {
  const named = { name: mount.name, mountPath: mount.mountPath };
  if (mount.readOnly !== true) return named;
  return { ...named, readOnly: true, recursiveReadOnly: isRecursiveReadOnly(mount, runtimeSupportsRecursiveReadOnly) ? 'Enabled' : 'Disabled' };
}

function isRecursiveReadOnly(mount: VolumeMount, runtimeSupports: boolean): boolean {
  if (mount.recursiveReadOnly !== 'Enabled' && mount.recursiveReadOnly !== 'IfPossible') return false;
  const propagates = mount.mountPropagation !== undefined && mount.mountPropagation !== 'None';
  return runtimeSupports && !propagates;
}

function linuxUser(user: NonNullable<RuntimeContainerStatus['user']>): { readonly uid: number; readonly gid: number; readonly supplementalGroups?: readonly number[] } {
  return { uid: user.uid, gid: user.gid, ...(user.supplementalGroups.length > 0 ? { supplementalGroups: user.supplementalGroups } : {}) };
}
