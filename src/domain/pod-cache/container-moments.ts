// When a pod's containers were created, started and ended, by the monotonic clock. The runtime's timestamps are of the wall clock; they are limited
// by the agent's own observations: not before it last saw the container in another state, and not after now. Containers from before the agent's start
// use what an earlier agent has written down (`agent/observed-times/observed-times.ts`), and without that their timestamps alone.
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

/** Neither has a container or a moment more than the other, where one was made from the other by `podMoments`. */
export function sameMoments(a: PodMoments, b: PodMoments): boolean {
  return a.size === b.size && [...a].every(([id, moments]) => b.get(id) === moments);
}

/**
 * The moments of all containers in the status.
 * @param before the pod's recorded moments
 * @param seenAt when the pod was last inspected before this; null: never
 */
export function podMoments(before: PodMoments | null, status: PodRuntimeStatus, seenAt: Micros | null, clocks: Clocks): PodMoments {
  return new Map(status.containers.map((container) => [container.id, momentsOf(before?.get(container.id) ?? null, container, seenAt, clocks)]));
}

/**
 * A container without recorded moments: uses its timestamps.
 * @param notBefore see `PodCache.observedBefore`
 */
export function unseenMoments(container: RuntimeContainerStatus, notBefore: Micros | null, clocks: Clocks): ContainerMoments {
  return momentsOf(null, container, notBefore, clocks);
}

function momentsOf(known: ContainerMoments | null, container: RuntimeContainerStatus, seenAt: Micros | null, clocks: Clocks): ContainerMoments {
  const { startedAt, finishedAt } = container;
  if (known !== null && (known.startedAt !== null || startedAt === null) && (known.endedAt !== null || finishedAt === null)) return known;
  const createdAt = known?.createdAt ?? momentOf(container.createdAt, clocks, seenAt);
  return {
    createdAt,
    startedAt: known?.startedAt ?? (startedAt === null ? null : momentOf(startedAt, clocks, seenAt) - (epochMicros(startedAt) % microsPerSecond)),
    endedAt: known?.endedAt ?? (finishedAt === null ? null : momentOf(finishedAt, clocks, seenAt)),
  };
}
