// Single values of the CRI in the domain's terms: times and states.
import type { Micros } from '../../ports/micros.js';
import type { ContainerRuntimeState } from '../../ports/model/runtime-status.js';
import { ContainerState } from './gen/cri-runtime-v1.js';

/** Nanoseconds to microseconds, cut. */
export function microsOf(nanoseconds: bigint): Micros {
  return Number(nanoseconds / 1_000n);
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
