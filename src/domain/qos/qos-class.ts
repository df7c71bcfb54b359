// A pod's quality-of-service class: how far its cpu and memory are reserved. It determines the cgroup parent, the OOM score
// and the eviction order.
// Invariant: a class in the status takes precedence over the computed one, since the pod's cgroup was created for it.
import type { ResourceList, ResourceRequirements } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { derived } from '../values/derived.js';
import { addQuantities, compareQuantities, mustParseQuantity, type Quantity, quantitySign } from '../values/quantity.js';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const qosClasses: readonly QosClass[] = ['Guaranteed', 'Burstable', 'BestEffort'];
const counted = ['cpu', 'memory'] as const;

export const podQosClass = derived((pod: Pod): QosClass => {
  const known = pod.status?.qosClass;
  return qosClasses.find((name) => name === known) ?? computeQosClass(pod);
});

/** From the spec alone: `spec.resources` if present, even empty; else the sums over regular and init containers. */
export function computeQosClass(pod: Pod): QosClass {
  const requests = new Map<string, Quantity>();
  const limits = new Map<string, Quantity>();
  let allLimited = true;
  const podLevel = pod.spec.resources;
  const units: readonly (ResourceRequirements | undefined)[] =
    podLevel !== undefined ? [podLevel] : [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map((container) => container.resources);
  for (const unit of units) {
    addPositive(requests, unit?.requests);
    const limited = addPositive(limits, unit?.limits);
    const mayLackLimits = podLevel !== undefined && Object.keys(podLevel.limits ?? {}).length === 0;
    if (limited < counted.length && !mayLackLimits) allLimited = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const reserved = [...requests].every(([name, request]) => {
    const limit = limits.get(name);
    return limit !== undefined && compareQuantities(limit, request) === 0;
  });
  return allLimited && reserved && requests.size === limits.size ? 'Guaranteed' : 'Burstable';
}

/** Adds the positive cpu and memory of a list to `sums` and returns how many of the two it had. */
function addPositive(sums: Map<string, Quantity>, list: ResourceList | undefined): number {
  let found = 0;
  for (const name of counted) {
    const text = list?.[name];
    if (text === undefined) continue;
    const amount = mustParseQuantity(text);
    if (quantitySign(amount) <= 0) continue;
    found++;
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? amount : addQuantities(sum, amount));
  }
  return found;
}
