// A sidecar that was created in a sandbox which then ended, while all regular containers had ended for good: it never starts, and no sandbox is
// made for it. Taken for one that is about to start, it would keep the pod Pending for ever.
// Invariant: only sidecars that can't run any more count as ended; a pod that still has something to start stays as it is.
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { notLocatedMessage, unknownTermination } from './container-statuses.js';
import { isRestartableAfterExit, isRestartableInit } from './restart-rules.js';
import { findContainerStatus } from './runtime-lookup.js';

/** @param previous the status before: an end that the runtime has forgotten counts @returns the same object where no sidecar is stranded */
export function withStrandedSidecarsEnded(pod: Pod, runtime: PodRuntimeStatus, previous: PodStatus): PodRuntimeStatus {
  if (runtime.containers.every(({ state }) => state !== 'created') || runtime.sandboxes.some(({ state }) => state === 'ready')) return runtime;
  const sidecars = new Set(pod.spec.initContainers?.filter(isRestartableInit).map(({ name }) => name));
  if (!runtime.containers.some(({ name, state }) => state === 'created' && sidecars.has(name)) || !hasEndedForGood(pod, runtime, previous)) return runtime;
  return { ...runtime, containers: runtime.containers.map((instance) => (instance.state === 'created' && sidecars.has(instance.name) ? ended(instance) : instance)) };
}

function hasEndedForGood(pod: Pod, runtime: PodRuntimeStatus, previous: PodStatus): boolean {
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
