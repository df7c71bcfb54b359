// How much a container may swap (KEP-2400): nothing, unless the node allows it and the pod is Burstable and not critical.
// Invariant: every container gets an explicit answer while the kernel accounts swap, so that no container inherits "unlimited".
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { LinuxContainerResources } from '../../ports/model/sandbox-config.js';
import { podQosClass } from '../qos/qos-class.js';
import { isCriticalPod } from '../values/pod-kind.js';
import { compareQuantities, isZeroQuantity, mustParseQuantity, quantityValue, zeroQuantity } from '../values/quantity.js';
import type { ResourceFacts } from './resource-facts.js';

const swapMaxFile = 'memory.swap.max';

/** @param memoryLimitBytes the container's limit, 0 for none: on cgroup v1 memory and swap are limited as one sum */
export function swapSettings(pod: Pod, container: Container, memoryLimitBytes: number, facts: ResourceFacts): Pick<LinuxContainerResources, 'unified' | 'memorySwapLimitInBytes'> {
  if (!facts.swap.controllerAvailable) return {};
  if (facts.cgroupVersion === 1) return { memorySwapLimitInBytes: memoryLimitBytes };
  return { unified: { [swapMaxFile]: String(facts.swap.behavior === 'LimitedSwap' ? limitedSwapBytes(pod, container, facts) : 0) } };
}

/** The container's part of the node's swap is its memory request's part of the node's memory. */
function limitedSwapBytes(pod: Pod, container: Container, facts: ResourceFacts): number {
  if (isCriticalPod(pod) || podQosClass(pod) !== 'Burstable') return 0;
  const request = amountOf(container.resources?.requests?.memory);
  const limit = amountOf(container.resources?.limits?.memory);
  const namesMemory = !isZeroQuantity(request) || !isZeroQuantity(limit);
  if (!namesMemory || compareQuantities(request, limit) === 0) return 0;
  const bytes = Number(quantityValue(request));
  if (bytes > facts.machineMemoryBytes) return 0;
  return Math.trunc((bytes / facts.machineMemoryBytes) * facts.swap.bytes);
}

function amountOf(text: string | undefined): ReturnType<typeof mustParseQuantity> {
  return text === undefined ? zeroQuantity : mustParseQuantity(text);
}
