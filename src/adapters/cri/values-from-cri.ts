// Single values of the CRI in the domain's terms: times, states, resources.
import { milliQuantityOf, quantityOf, quantityText } from '../../domain/values/quantity.js';
import type { Micros } from '../../ports/micros.js';
import type { ContainerRuntimeState, RuntimeContainerResources } from '../../ports/model/runtime-status.js';
import { ContainerState, type LinuxContainerResources } from './gen/cri-runtime-v1.js';

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

/** cgroup values back to API quantities: shares round up, so that a request that became shares comes back as itself. Zero means "not reported". */
export function resourcesInStatus(linux: LinuxContainerResources | undefined): RuntimeContainerResources | null {
  if (linux === undefined) return null;
  const { cpuPeriod, cpuQuota, cpuShares, memoryLimitInBytes } = linux;
  return {
    cpuRequest: cpuShares >= 2n ? quantityText(milliQuantityOf((cpuShares * 1_000n + 1_023n) / 1_024n)) : null,
    cpuLimit: cpuPeriod > 0n && cpuQuota > 0n ? quantityText(milliQuantityOf((cpuQuota * 1_000n) / cpuPeriod)) : null,
    memoryRequest: null,
    memoryLimit: memoryLimitInBytes > 0n ? quantityText(quantityOf(memoryLimitInBytes, 'BinarySI')) : null,
  };
}
