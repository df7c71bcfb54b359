// A pod's request of one resource, for the comparison of pods in eviction and preemption.
// It differs from admission: pod-level resources hide the containers' for every resource, and overhead counts only for a pod with requests.
import type { Pod } from '../../ports/model/pod.js';
import { addQuantities, isZeroQuantity, mustParseQuantity, type Quantity, zeroQuantity } from '../values/quantity.js';
import { hasPodLevel, podRequests } from './pod-resources.js';

/** 0 if the pod requests none. */
export function resourceRequest(pod: Pod, name: string): Quantity {
  const request = hasPodLevel(pod, 'requests') || hasPodLevel(pod, 'limits') ? podLevelRequest(pod, name) : (containerRequests(pod).get(name) ?? zeroQuantity);
  const overhead = pod.spec.overhead?.[name];
  return overhead === undefined || isZeroQuantity(request) ? request : addQuantities(request, mustParseQuantity(overhead));
}

function podLevelRequest(pod: Pod, name: string): Quantity {
  const text = pod.spec.resources?.requests?.[name];
  return text === undefined ? zeroQuantity : mustParseQuantity(text);
}

function containerRequests(pod: Pod): ReadonlyMap<string, Quantity> {
  return podRequests(pod, { excludeOverhead: true, skipPodLevel: true });
}
