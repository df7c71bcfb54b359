// When a pod's containers were created, started and ended, by the monotonic clock. The runtime's timestamps are of the wall clock; they are limited
// by the agent's own observations: not before it last saw the container in another state, and not after now. Containers from before the agent's start
// use their timestamps alone.
// Invariant: a recorded moment never changes, even if the wall clock is set.
import type { Micros } from '../../ports/micros.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { type Clocks, epochMicros, momentOf } from '../values/instant.js';
import { microsPerSecond } from '../values/time.js';

export interface ContainerMoments {
  readonly createdAt: Micros;
  /** To the second of its stamp, as the API shows it; null: not started yet. */
  readonly startedAt: Micros | null;
  /** null: not ended yet. */
  readonly endedAt: Micros | null;
}

/** By container id. */
export type PodMoments = ReadonlyMap<string, ContainerMoments>;

/**
 * The moments of all containers in the status.
 * @param before the pod's recorded moments
 * @param seenAt when the pod was last inspected before this; null: never
 */
export function podMoments(before: PodMoments | null, status: PodRuntimeStatus, seenAt: Micros | null, clocks: Clocks): PodMoments {
  return new Map(status.containers.map((container) => [container.id, momentsOf(before?.get(container.id) ?? null, container, seenAt, clocks)]));
}

/** A container without recorded moments: uses its timestamps. */
export function unseenMoments(container: RuntimeContainerStatus, clocks: Clocks): ContainerMoments {
  return momentsOf(null, container, null, clocks);
}

function momentsOf(known: ContainerMoments | null, container: RuntimeContainerStatus, seenAt: Micros | null, clocks: Clocks): ContainerMoments {
  const { startedAt, finishedAt } = container;
  const earliest = seenAt ?? Number.NEGATIVE_INFINITY;
  const createdAt = known?.createdAt ?? momentOf(container.createdAt, clocks, earliest);
  return {
    createdAt,
    startedAt: known?.startedAt ?? (startedAt === null ? null : momentOf(startedAt, clocks, earliest) - (epochMicros(startedAt) % microsPerSecond)),
    endedAt: known?.endedAt ?? (finishedAt === null ? null : momentOf(finishedAt, clocks, earliest)),
  };
}
