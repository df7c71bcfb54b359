// Queries on the runtime's lists. They rely on the order: newest first.
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';

/** The newest status of a container name; null when the runtime knows none. */
export function findContainerStatus(status: PodRuntimeStatus, containerName: string): RuntimeContainerStatus | null {
  return status.containers.find((container) => container.name === containerName) ?? null;
}

/** The statuses that belong to the newest sandbox; none unless that sandbox is ready. */
export function activeContainerStatuses(status: PodRuntimeStatus): readonly RuntimeContainerStatus[] {
  const newest = status.sandboxes[0];
  if (newest === undefined || newest.state !== 'ready') return [];
  return status.containers.filter((container) => container.sandboxId === newest.id);
}
