// Single values of the CRI in the domain's terms: times and states.
import { instantOf } from '../../domain/values/instant.js';
import type { Instant } from '../../ports/instant.js';
import type { ContainerRuntimeState } from '../../ports/model/runtime-status.js';
import { ContainerState } from './gen/cri-runtime-v1.js';

/** From nanoseconds since the epoch, cut to microseconds. */
export function instantOfNanos(nanoseconds: bigint): Instant {
  return instantOf(Number(nanoseconds / 1_000n));
}

export function containerStateFromCri(state: ContainerState): ContainerRuntimeState {
  switch (state) {
    case ContainerState.CONTAINER_CREATED:
      return 'created';
    case ContainerState.CONTAINER_RUNNING:
      return 'running';
    case ContainerState.CONTAINER_EXITED:
      return 'exited';
    default:
      return 'unknown';
  }
}
