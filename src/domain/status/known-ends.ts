// Corrects the inputs of a pod's status if the runtime reports less about a container than is known already, so that a container that
// has run never appears as if it was about to run for the first time. Without this
//
// | the runtime has                                      | and the status would                                       |
// |------------------------------------------------------|------------------------------------------------------------|
// | a second instance that was created and never started | use it as the last terminated one, whose end is lost        |
// | a created one, and not the one that ran              | lose that it ran                                            |
// | one of unknown state, whose end has been reported    | revert the end                                             |
//
// Invariant: instances that run or have ended stay as they are.
import type { ContainerStateTerminated, ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { unknownTermination, wasRunningMessage } from './container-statuses.js';

/** @param previous the status before: cached, else the API's */
export function withKnownEnds(runtime: PodRuntimeStatus, previous: PodStatus): PodRuntimeStatus {
  if (runtime.containers.every(showsEnd)) return runtime;
  const before = [...(previous.initContainerStatuses ?? []), ...(previous.containerStatuses ?? []), ...(previous.ephemeralContainerStatuses ?? [])];
  const names = [...new Set(runtime.containers.map(({ name }) => name))];
  const replaced = names.flatMap((name) => {
    const instances = runtime.containers.filter((candidate) => candidate.name === name);
    return instances.every(showsEnd) ? instances : informative(instances, before.find((status) => status.name === name) ?? null);
  });
  return { ...runtime, containers: replaced };
}

function showsEnd({ state }: RuntimeContainerStatus): boolean {
  return state === 'running' || state === 'exited';
}

/** The newest instance, and the one with the container's last termination, if any. */
function informative(instances: readonly RuntimeContainerStatus[], previous: ContainerStatus | null): readonly RuntimeContainerStatus[] {
  const [newest, ...others] = instances;
  if (newest === undefined) return [];
  const reported = previous?.state?.terminated;
  if (newest.state === 'unknown' && reported !== undefined && isOf(previous, newest)) return [ended(newest, newest.id, reported), ...others.filter(showsEnd)];
  const older = others.find(({ state }) => state !== 'created');
  // One of no known state counts as ended as long as its container was running; afterwards its end is in the status before.
  if (older !== undefined && (showsEnd(older) || previous?.state?.running !== undefined)) return [newest, older];
  const ranUnseen = newest.state === 'created' && previous?.state?.running !== undefined && previous.lastState?.terminated === undefined;
  return ranUnseen ? [newest, ended(newest, idOf(previous), unknownTermination(wasRunningMessage))] : [newest];
}

function ended(instance: RuntimeContainerStatus, id: string, { exitCode, reason = '', message = '' }: ContainerStateTerminated): RuntimeContainerStatus {
  return { ...instance, id, state: 'exited', startedAt: null, finishedAt: null, exitCode, reason, message };
}

function isOf(status: ContainerStatus | null, instance: RuntimeContainerStatus): boolean {
  return idOf(status) === instance.id;
}

/** Without the runtime's prefix. */
function idOf(status: ContainerStatus | null): string {
  return status?.containerID?.replace(/^[^:]*:\/\//, '') ?? '';
}
