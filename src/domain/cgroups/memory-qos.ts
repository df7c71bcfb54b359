// Memory reservation and throttling of a container on cgroup v2 (KEP-2570): memory.min or memory.low, and memory.high.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { podQosClass } from '../qos/qos-class.js';
import { mustParseQuantity, quantityValue } from '../values/quantity.js';
import type { ResourceFacts } from './resource-facts.js';

/** Reserves requests according to class: Guaranteed pods are never reclaimed from, others as a last resort. */
export const tieredReservation = 'TieredReservation';

/** The cgroup files to write; none while the feature is off. Pod-level resources play no part. */
export function memoryQosKeys(pod: Pod, container: Container, facts: ResourceFacts): Record<string, string> {
  const qos = facts.memoryQos;
  if (qos === null || facts.cgroupVersion === 1) return {};
  const request = bytesOf(container.resources?.requests?.memory);
  const limit = bytesOf(container.resources?.limits?.memory);
  const keys: Record<string, string> = {};
  if (request !== 0 && qos.reservationPolicy === tieredReservation) keys[reservationFile(pod)] = String(request);
  else Object.assign(keys, { 'memory.min': '0', 'memory.low': '0' });
  if (request !== limit) {
    const top = limit !== 0 ? limit : qos.allocatableMemoryBytes;
    const high = top === null ? 0 : Math.floor(Math.floor(request + (top - request) * qos.throttlingFactor) / qos.memoryPageBytes) * qos.memoryPageBytes;
    if (high > request) keys['memory.high'] = String(high);
  }
  return keys;
}

export function reservationFile(pod: Pod): 'memory.min' | 'memory.low' {
  return podQosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low';
}

function bytesOf(text: string | undefined): number {
  return text === undefined ? 0 : Number(quantityValue(mustParseQuantity(text)));
}
