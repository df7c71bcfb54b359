// Dead containers that go at once when another one of their pod dies, so that a crash loop doesn't fill the node between two
// rounds of garbage collection.
// Invariant: unless the whole pod may go, the newest exited container of a name stays: its restart count and last state are read from it.

import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { newestAttemptFirst } from '../values/newest-first.js';

/** The limit of queued removals; more are left to the garbage collection. */
export const deadContainerQueueCapacity = 50;

/**
 * Ids of exited containers to remove after `diedContainerId` ended: the old ones of its name.
 * @param maxPerPodContainer how many dead ones of a name the garbage collection keeps; at least one is kept here
 */
export function deadContainersAfterDeath(status: PodRuntimeStatus, diedContainerId: string, maxPerPodContainer: number): string[] {
  const died = status.containers.find((container) => container.id === diedContainerId);
  if (died === undefined) return [];
  return exitedNewestFirst(status)
    .filter((container) => container.name === died.name)
    .slice(Math.max(maxPerPodContainer, 1))
    .map((container) => container.id);
}

/** Ids of all exited containers of a pod that was evicted, or whose content may go. */
export function allDeadContainers(status: PodRuntimeStatus): string[] {
  return exitedNewestFirst(status).map((container) => container.id);
}

function exitedNewestFirst(status: PodRuntimeStatus): RuntimeContainerStatus[] {
  return status.containers.filter((container) => container.state === 'exited').sort(newestFirst);
}

function newestFirst(a: RuntimeContainerStatus, b: RuntimeContainerStatus): number {
  return newestAttemptFirst({ ...a, attempt: a.restartCount }, { ...b, attempt: b.restartCount });
}
