// Resizes that this node can't do with any free resources: checked first, and refused permanently.
// Invariant: messages are for users in the condition PodResizePending; details are labels of a metric.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ResourceFacts } from '../cgroups/resource-facts.js';
import { swapSettings } from '../cgroups/swap.js';
import { podRequests, type Quantities } from '../qos/pod-resources.js';
import { podQosClass } from '../qos/qos-class.js';
import { compareQuantities, mustParseQuantity, zeroQuantity } from '../values/quantity.js';
import { type ResizeGates, recordedContainers } from './allocated-pod.js';
import { isSameRequirements } from './same-resources.js';

export interface ResizeGateInput {
  readonly desired: Pod;
  readonly allocated: Pod;
  readonly facts: ResourceFacts;
  readonly gates: ResizeGates;
  /** `static` gives CPUs to single containers: those of Guaranteed pods can't change. */
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
}

export interface Infeasible {
  readonly message: string;
  /** The label `reason_detail`. */
  readonly detail: 'swap_limitation' | 'plr_feature_gate_off' | 'guaranteed_pod_cpu_manager_static_policy' | 'guaranteed_pod_memory_manager_static_policy';
}

/** null: the resources may be checked. */
export function infeasibleResize(input: ResizeGateInput): Infeasible | null {
  const { desired, allocated, gates } = input;
  if (isSwapInTheWay(input)) return { message: 'In-place resize of containers with swap is not supported.', detail: 'swap_limitation' };
  if (!gates.podLevel && !isSameRequirements(desired.spec.resources, allocated.spec.resources)) {
    return { message: 'InPlacePodLevelResourcesVerticalScaling is disabled', detail: 'plr_feature_gate_off' };
  }
  if (podQosClass(allocated) !== 'Guaranteed') return null;
  const [after, before] = [podRequests(desired), podRequests(allocated)];
  if (input.cpuManagerPolicy === 'static' && differs(after, before, 'cpu')) {
    return { message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"', detail: 'guaranteed_pod_cpu_manager_static_policy' };
  }
  if (input.memoryManagerPolicy === 'Static' && differs(after, before, 'memory')) {
    return { message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"', detail: 'guaranteed_pod_memory_manager_static_policy' };
  }
  return null;
}

/** How much a container may swap follows from its memory request, and can't be changed while it runs. */
function isSwapInTheWay({ desired, allocated, facts, gates }: ResizeGateInput): boolean {
  if (facts.swap.behavior !== 'LimitedSwap') return false;
  const before = new Map(recordedContainers(allocated, gates).map((container) => [container.name, container]));
  return recordedContainers(desired, gates).some((container) => {
    const now = before.get(container.name);
    if (now === undefined || isSameAmount(container.resources?.requests?.memory, now.resources?.requests?.memory)) return false;
    return !isRestartedForMemory(container) && (maySwap(allocated, now, facts) || maySwap(desired, container, facts));
  });
}

function maySwap(pod: Pod, container: Container, facts: ResourceFacts): boolean {
  const { unified, memorySwapLimitInBytes } = swapSettings(pod, container, 0, facts);
  return Object.values(unified ?? {}).some((amount) => amount !== '0') || (memorySwapLimitInBytes ?? 0) !== 0;
}

function isRestartedForMemory({ resizePolicy = [] }: Container): boolean {
  return resizePolicy.findLast(({ resourceName }) => resourceName === 'memory')?.restartPolicy === 'RestartContainer';
}

function differs(a: Quantities, b: Quantities, name: 'cpu' | 'memory'): boolean {
  return compareQuantities(a.get(name) ?? zeroQuantity, b.get(name) ?? zeroQuantity) !== 0;
}

function isSameAmount(a: string | undefined, b: string | undefined): boolean {
  return a === b || compareQuantities(a === undefined ? zeroQuantity : mustParseQuantity(a), b === undefined ? zeroQuantity : mustParseQuantity(b)) === 0;
}
