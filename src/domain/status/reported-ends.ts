// Adds reported ends to the runtime's state of a pod, for containers that the runtime has lost: removed by an administrator or by
// other cleanup, or lost with the node's disk. A container reported as terminated has terminated; otherwise it would run again.
//
// | container   | counts as ended when the runtime has no instance of it and                                               |
// |-------------|----------------------------------------------------------------------------------------------------------|
// | regular     | the status has an end after which it may not run again                                                   |
// | ephemeral   | the status has an end: these run once                                                                    |
// | init        | the status has an end, and its run belongs to the sandbox in use: with another sandbox init containers run again |
//
// A sidecar always runs again. Invariant: instances in the runtime are unchanged.
import type { Instant } from '../../ports/instant.js';
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStateTerminated, ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus, RuntimeContainerStatus, SandboxStatus } from '../../ports/model/runtime-status.js';
import { epochMicros, instantAfter, instantOf } from '../values/instant.js';
import { microsPerSecond, parseRfc3339 } from '../values/time.js';
import { isRestartableAfterExit, isRestartableInit, restartingAllContainers } from './restart-rules.js';
import { findContainerStatus } from './runtime-lookup.js';

/**
 * @param reported the status of the pod so far: cached, else as the API server has it
 * @param wall the time now
 */
export function withReportedEnds(pod: Pod, runtime: PodRuntimeStatus, reported: PodStatus, wall: Instant): PodRuntimeStatus {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const forgotten = [
    ...endsOf(containers, reported.containerStatuses, runtime, (container, status) => endOfRegular(pod, container, status)),
    ...endsOf(ephemeralContainers, reported.ephemeralContainerStatuses, runtime, (_, status) => status.state?.terminated ?? lastEnd(status)),
    ...endsOf(initContainers, reported.initContainerStatuses, runtime, (container, status) => endOfInit(pod, container, status, runtime, wall)),
  ];
  return forgotten.length === 0 ? runtime : { ...runtime, containers: [...runtime.containers, ...forgotten] };
}

type EndOf = (container: Container, status: ContainerStatus) => ContainerStateTerminated | undefined;

function endsOf(containers: readonly Container[], statuses: readonly ContainerStatus[] = [], runtime: PodRuntimeStatus, endOf: EndOf): readonly RuntimeContainerStatus[] {
  if (statuses.length === 0) return [];
  return containers.flatMap((container) => {
    if (findContainerStatus(runtime, container.name) !== null) return [];
    const status = statuses.find(({ name }) => name === container.name);
    const end = status === undefined ? undefined : endOf(container, status);
    return status === undefined || end === undefined ? [] : [ended(status, end)];
  });
}

function endOfRegular(pod: Pod, container: Container, status: ContainerStatus): ContainerStateTerminated | undefined {
  const end = status.state?.terminated ?? lastEnd(status);
  return end === undefined || end.reason === restartingAllContainers || isRestartableAfterExit(pod, container, end.exitCode) ? undefined : end;
}

/** One that ran until it was lost reads as waiting, with its end behind it. */
function lastEnd(status: ContainerStatus): ContainerStateTerminated | undefined {
  return status.state?.waiting === undefined ? undefined : status.lastState?.terminated;
}

function endOfInit(pod: Pod, container: Container, status: ContainerStatus, runtime: PodRuntimeStatus, wall: Instant): ContainerStateTerminated | undefined {
  const end = status.state?.terminated;
  const sandbox = runtime.sandboxes[0];
  if (end === undefined || isRestartableInit(container) || sandbox?.state !== 'ready') return undefined;
  return isInitialised(pod, runtime, sandbox) || ranIn(sandbox, end, wall) ? end : undefined;
}

/** Regular containers are created in a sandbox once its init containers are done, whatever their current state. */
function isInitialised(pod: Pod, runtime: PodRuntimeStatus, { id }: SandboxStatus): boolean {
  return runtime.containers.some(({ name, sandboxId }) => sandboxId === id && pod.spec.containers.some((container) => container.name === name));
}

/**
 * By the runtime's timestamps. The API keeps whole seconds: a run that began in the second of the sandbox's creation belongs to that sandbox, unless it replaced
 * another. A timestamp in the future is from before the clock was set back, so it is ignored.
 */
function ranIn(sandbox: SandboxStatus, { startedAt }: ContainerStateTerminated, wall: Instant): boolean {
  const started = startedAt === undefined || startedAt === null ? null : parseRfc3339(startedAt);
  if (started === null || started > wall) return false;
  const sandboxSecond = instantAfter(sandbox.createdAt, -(epochMicros(sandbox.createdAt) % microsPerSecond));
  return sandbox.attempt === 0 ? started >= sandboxSecond : started > sandboxSecond;
}

/** An instance as the runtime would have it, of no sandbox in particular. Its stamps stay out: nothing may be computed from them. */
function ended(status: ContainerStatus, end: ContainerStateTerminated): RuntimeContainerStatus {
  return {
    id: status.containerID?.replace(/^[^:]*:\/\//, '') ?? '',
    sandboxId: '',
    name: status.name,
    state: 'exited',
    createdAt: instantOf(0),
    startedAt: null,
    finishedAt: null,
    exitCode: end.exitCode,
    reason: end.reason ?? '',
    message: '',
    restartCount: status.restartCount,
    hash: '',
    image: status.image,
    imageRef: status.imageID,
    imageId: '',
    resources: null,
    user: null,
  };
}
