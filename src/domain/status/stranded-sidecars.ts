// A sidecar that was never started, or only created, when its sandbox ended, while all regular containers had ended permanently: no sandbox is
// created for it, and it never starts. Treated as about to start, it would keep the pod Pending forever.
// Invariant: only sidecars that can't run any more count as ended; a pod that still has a container to start stays as it is.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { notLocatedMessage, unknownTermination } from './container-statuses.js';
import { isRestartableAfterExit, isRestartableInit } from './restart-rules.js';
import { findContainerStatus } from './runtime-lookup.js';

/** @param previous the status before: an end that the runtime has forgotten counts @returns the same object where no sidecar is stranded */
export function withStrandedSidecarsEnded(pod: Pod, runtime: PodRuntimeStatus, previous: PodStatus): PodRuntimeStatus {
  if (runtime.containers.every(({ state }) => state !== 'created')) return runtime;
  const sidecars = new Set(sidecarsOf(pod).map(({ name }) => name));
  if (!runtime.containers.some(({ name, state }) => state === 'created' && sidecars.has(name)) || !hasEndedForGood(pod, runtime, previous)) return runtime;
  return { ...runtime, containers: runtime.containers.map((instance) => (instance.state === 'created' && sidecars.has(instance.name) ? ended(instance) : instance)) };
}

/** The previous status, with an end of those sidecars that the runtime lacks; the same object if none. */
export function withLostSidecarsEnded(pod: Pod, runtime: PodRuntimeStatus, previous: PodStatus): PodStatus {
  const before = previous.initContainerStatuses ?? [];
  const statusOf = (name: string): ContainerStatus | undefined => before.find((status) => status.name === name);
  const lost = sidecarsOf(pod).filter(({ name }) => findContainerStatus(runtime, name) === null && !hasEnd(statusOf(name)));
  if (lost.length === 0 || !hasEndedForGood(pod, runtime, previous)) return previous;
  const terminated = unknownTermination(notLocatedMessage);
  const ends = lost.map(
    ({ name, image = '' }): ContainerStatus => ({ name, image, imageID: '', ready: false, restartCount: 0, lastState: {}, ...statusOf(name), state: { terminated } }),
  );
  return { ...previous, initContainerStatuses: [...before.filter(({ name }) => !ends.some((end) => end.name === name)), ...ends] };
}

function hasEnd(status: ContainerStatus | undefined): boolean {
  return status?.state?.terminated !== undefined || status?.lastState?.terminated !== undefined;
}

function sidecarsOf(pod: Pod): readonly Container[] {
  return pod.spec.initContainers?.filter(isRestartableInit) ?? [];
}

/** Nothing of the pod can run any more: no sandbox is ready, and no regular container is started again. */
function hasEndedForGood(pod: Pod, runtime: PodRuntimeStatus, previous: PodStatus): boolean {
  if (runtime.sandboxes.some(({ state }) => state === 'ready')) return false;
  return pod.spec.containers.every((container) => {
    const newest = findContainerStatus(runtime, container.name);
    const exitCode = newest === null ? previous.containerStatuses?.find(({ name }) => name === container.name)?.state?.terminated?.exitCode : endOf(newest);
    return exitCode !== undefined && !isRestartableAfterExit(pod, container, exitCode);
  });
}

function endOf({ state, exitCode }: RuntimeContainerStatus): number | undefined {
  return state === 'exited' ? exitCode : undefined;
}

function ended(instance: RuntimeContainerStatus): RuntimeContainerStatus {
  const { exitCode, reason = '', message = '' } = unknownTermination(notLocatedMessage);
  return { ...instance, state: 'exited', startedAt: null, finishedAt: null, exitCode, reason, message };
}
