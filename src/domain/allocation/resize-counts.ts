// Counts requested resizes, for `kubelet_container_requested_resizes_total`: by resource, requests or limits, and direction of the change.
import type { Pod } from '../../ports/model/pod.js';
import { compareQuantities, mustParseQuantity } from '../values/quantity.js';
import { type ResizeGates, recordedContainers } from './allocated-pod.js';
import type { ResizeCounters } from './allocation-state.js';

export function countRequested({ requested }: Pick<ResizeCounters, 'requested'>, before: Pod, after: Pod, gates: ResizeGates): void {
  const then = new Map(recordedContainers(before, gates).map(({ name, resources }) => [name, resources]));
  for (const { name, resources } of recordedContainers(after, gates)) {
    for (const resource of ['cpu', 'memory']) {
      for (const side of ['requests', 'limits'] as const) {
        const operation = change(then.get(name)?.[side]?.[resource], resources?.[side]?.[resource]);
        if (operation === null) continue;
        const key = `${resource} ${side} ${operation}`;
        requested.set(key, (requested.get(key) ?? 0) + 1);
      }
    }
  }
}

function change(before: string | undefined, after: string | undefined): 'add' | 'remove' | 'increase' | 'decrease' | null {
  if (before === after) return null;
  if (before === undefined) return 'add';
  if (after === undefined) return 'remove';
  const order = compareQuantities(mustParseQuantity(after), mustParseQuantity(before));
  return order === 0 ? null : order > 0 ? 'increase' : 'decrease';
}
