// Capacity and allocatable resources of the node: machine facts, device plugins and reservations.
// Invariants: no amount is below 0; capacity of other writers stays; a vanished device resource is kept with 0, since schedulers
// distinguish resources of nodes from those of the cluster by their presence.
import type { ResourceList } from '../../ports/model/container.js';
import { canonicalQuantity, milliQuantityOf, mustParseQuantity, type Quantity, quantityOf, quantitySign, subtractQuantities } from '../values/quantity.js';
import { hugePagesPrefix, isExtendedResource, isHugePageResource } from '../values/resource-name.js';

export interface HugePages {
  readonly pageSizeKiB: number;
  readonly numPages: number;
}

export interface MachineFacts {
  /** Logical CPUs online. */
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly HugePages[];
}

export interface DeviceResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources whose plugin is removed. */
  readonly removed: readonly string[];
}

export interface CapacityFacts {
  /** null: it could not be read. */
  readonly machine: MachineFacts | null;
  readonly maxPods: number;
  /** 0: no limit by cores. */
  readonly podsPerCore: number;
  /** The file system of the root directory; null: unknown, or ephemeral storage is not accounted. */
  readonly ephemeralStorage: string | null;
  readonly devices: DeviceResources;
  /** Kept from pods: for the system, for Kubernetes, and to evict in time. */
  readonly reservation: ResourceList;
}

type Amounts = Map<string, Quantity>;
const zero = quantityOf(0);

export function nodeResources(
  existing: { readonly capacity: ResourceList; readonly allocatable: ResourceList },
  facts: CapacityFacts,
): {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
} {
  const capacity = amountsOf(existing.capacity);
  addMachineCapacity(capacity, facts);
  const allocatable = amountsOf(existing.allocatable);
  for (const name of [...allocatable.keys()]) if (!capacity.has(name) && isExtendedResource(name)) allocatable.delete(name);
  const reservation = amountsOf(facts.reservation);
  for (const [name, amount] of capacity) allocatable.set(name, minus(amount, reservation.get(name)));
  if (facts.machine !== null) for (const [name, amount] of amountsOf(facts.devices.allocatable)) allocatable.set(name, amount);
  // Huge pages are taken out of the same memory, all of them and from the start.
  for (const [name, amount] of capacity) {
    if (isHugePageResource(name)) allocatable.set('memory', minus(allocatable.get('memory') ?? quantityOf(0, 'BinarySI'), amount));
  }
  return { capacity: listOf(capacity), allocatable: listOf(allocatable) };
}

function addMachineCapacity(capacity: Amounts, { machine, maxPods, podsPerCore, ephemeralStorage, devices }: CapacityFacts): void {
  if (machine === null) {
    capacity.set('cpu', zero);
    capacity.set('memory', zero);
    capacity.set('pods', quantityOf(maxPods));
    return;
  }
  capacity.set('cpu', milliQuantityOf(machine.cpus * 1000));
  capacity.set('memory', quantityOf(machine.memoryBytes, 'BinarySI'));
  for (const { pageSizeKiB, numPages } of machine.hugePages) {
    const bytes = BigInt(pageSizeKiB) * 1024n;
    capacity.set(hugePagesPrefix + canonicalQuantity(quantityOf(bytes, 'BinarySI')), quantityOf(bytes * BigInt(numPages), 'BinarySI'));
  }
  capacity.set('pods', quantityOf(podsPerCore > 0 ? Math.min(machine.cpus * podsPerCore, maxPods) : maxPods));
  if (ephemeralStorage !== null) capacity.set('ephemeral-storage', mustParseQuantity(ephemeralStorage));
  for (const [name, amount] of amountsOf(devices.capacity)) capacity.set(name, amount);
  for (const name of devices.removed) capacity.set(name, zero);
}

function minus(amount: Quantity, taken: Quantity | undefined): Quantity {
  if (taken === undefined) return amount;
  const rest = subtractQuantities(amount, taken);
  return quantitySign(rest) < 0 ? zero : rest;
}

function amountsOf(list: ResourceList): Amounts {
  return new Map(Object.entries(list).map(([name, text]) => [name, mustParseQuantity(text)]));
}

function listOf(amounts: Amounts): ResourceList {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, canonicalQuantity(amount)]));
}
