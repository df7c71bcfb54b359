// A node's allocatable resources, its pods' usage, and whether another pod fits.
// Invariant: an admitted pod overcommits none of its requested resources: request <= allocatable - used.
import type { ResourceList } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { parsedList, podRequests, type Quantities } from '../qos/pod-resources.js';
import { derived } from '../values/derived.js';
import { quantityMilliValue, quantityValue } from '../values/quantity.js';
import { isScalarResource } from '../values/resource-name.js';
import { byCodeUnits } from '../values/text-order.js';

/** cpu in thousandths, `pods` in pods, anything else in whole units. */
export type Amounts = ReadonlyMap<string, bigint>;

export interface Shortage {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

const coreResources: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];

export function allocatableAmounts(allocatable: ResourceList | undefined): Amounts {
  const list = parsedList(allocatable);
  const pods = list.get('pods');
  return new Map([...amountsOf(list), ['pods', pods === undefined ? 0n : quantityValue(pods)]]);
}

/** The pods' amounts: the larger of their requests and their present resources. */
export function usedAmounts(pods: readonly Pod[]): Amounts {
  const used = new Map<string, bigint>([['pods', BigInt(pods.length)]]);
  for (const pod of pods) for (const [name, amount] of heldAmounts(pod)) used.set(name, (used.get(name) ?? 0n) + amount);
  return used;
}

/** Each new pod counts all others; a pod's amounts follow from its object. */
const heldAmounts = derived((pod: Pod): Amounts => amountsOf(podRequests(pod, { useStatus: true })));

/** In the order pods, cpu, memory, ephemeral-storage, then the others by name. */
export function shortages(pod: Pod, allocatable: Amounts, used: Amounts): Shortage[] {
  const requests = amountsOf(podRequests(pod));
  const others = [...requests.keys()].filter((name) => !coreResources.includes(name)).sort(byCodeUnits);
  const wanted: (readonly [string, bigint])[] = [['pods', 1n], ...[...coreResources, ...others].map((name) => [name, requests.get(name) ?? 0n] as const)];
  return wanted.flatMap(([resource, requested]) => {
    const capacity = allocatable.get(resource) ?? 0n;
    const taken = used.get(resource) ?? 0n;
    return requested > 0n && requested > capacity - taken ? [{ resource, requested, used: taken, capacity }] : [];
  });
}

/** Omits names that no node counts. */
function amountsOf(quantities: Quantities): Map<string, bigint> {
  const amounts = new Map<string, bigint>();
  for (const [name, quantity] of quantities) {
    if (name === 'cpu') amounts.set(name, quantityMilliValue(quantity));
    else if (coreResources.includes(name) || isScalarResource(name)) amounts.set(name, quantityValue(quantity));
  }
  return amounts;
}
