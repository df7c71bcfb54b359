// Capacity, reservations and allocatable resources of a node: in the node's status, and as limits on the cgroup of all pods.
// Invariant: nothing goes below zero; what the scheduler may assign never exceeds the limits of the cgroup of all pods.
import type { ResourceList } from '../../ports/model/container.js';
import type { MachineReading } from '../../ports/outbound/machine.js';
import type { Reservation } from '../configuration/startup-checks.js';
import type { EvictionSignal } from '../eviction/signals.js';
import type { ThresholdValue } from '../eviction/threshold-text.js';
import { thresholdQuantity } from '../eviction/thresholds.js';
import { parsedList, type Quantities, resourceListOf } from '../qos/pod-resources.js';
import { goQuote } from '../values/go-text.js';
import {
  addQuantities,
  compareQuantities,
  isZeroQuantity,
  milliQuantityOf,
  type Quantity,
  quantityMilliValue,
  quantityOf,
  quantitySign,
  quantityText,
  quantityValue,
  subtractQuantities,
  zeroQuantity,
} from '../values/quantity.js';
import { isExtendedResource, isHugePageResource } from '../values/resource-name.js';
import { type CgroupConfig, emptyCgroupConfig } from './cgroup-config.js';
import { milliCpuToShares } from './cpu-conversions.js';
import { hugePageBytes, hugePageResource } from './huge-page-sizes.js';

/** Read once at start: neither CPUs nor memory are plugged in later. */
export interface MachineFacts {
  /** Online logical CPUs. */
  readonly cpus: number;
  readonly memoryBytes: bigint;
  readonly hugePages: readonly { readonly pageSizeKiB: number; readonly count: number }[];
  /** Of the file system under the root directory; null if local storage isn't counted, or not known yet. */
  readonly ephemeralStorageBytes: bigint | null;
  /** The smaller of the kernel's limits on process ids and threads. */
  readonly maxPids: number;
}

export interface ReservationFacts {
  readonly kubeReserved: Reservation;
  readonly systemReserved: Reservation;
  readonly hardEviction: ReadonlyMap<EvictionSignal, ThresholdValue>;
}

/** Resources of device plugins: all devices, the healthy ones, and the resources without a plugin. */
export interface DeviceCapacity {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  readonly removed: readonly string[];
}

/** Of a node without device plugins. */
export const noDevices: DeviceCapacity = { capacity: {}, allocatable: {}, removed: [] };

export interface PodCountLimits {
  readonly maxPods: number;
  /** 0: no limit by CPU. */
  readonly podsPerCore: number;
}

export interface NodeResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
}

/** @param disk bytes of the file system under the root directory; null if local storage isn't counted, or not known yet */
export function machineFacts({ cpus, memoryBytes, hugePages, maxPids }: MachineReading, disk: number | null): MachineFacts {
  return { cpus, memoryBytes: BigInt(memoryBytes), hugePages, maxPids, ephemeralStorageBytes: disk === null ? null : BigInt(disk) };
}

/** The machine's own resources; devices and the number of pods come with the status. */
export function machineCapacity(machine: MachineFacts): Map<string, Quantity> {
  const capacity = new Map<string, Quantity>([
    ['cpu', milliQuantityOf(machine.cpus * 1000)],
    ['memory', quantityOf(machine.memoryBytes, 'BinarySI')],
  ]);
  for (const { pageSizeKiB, count } of machine.hugePages) {
    const pageBytes = BigInt(pageSizeKiB) * 1024n;
    capacity.set(hugePageResource(pageBytes), quantityOf(pageBytes * BigInt(count), 'BinarySI'));
  }
  if (machine.ephemeralStorageBytes !== null) capacity.set('ephemeral-storage', quantityOf(machine.ephemeralStorageBytes, 'BinarySI'));
  return capacity;
}

/** What scheduling may not give out: reserved for the system, for Kubernetes, and up to the hard eviction thresholds of memory and the node's disk. */
export function nodeReservation(capacity: Quantities, { kubeReserved, systemReserved, hardEviction }: ReservationFacts): Map<string, Quantity> {
  const eviction = new Map<string, Quantity>();
  for (const [signal, resource] of [
    ['memory.available', 'memory'],
    ['nodefs.available', 'ephemeral-storage'],
  ] as const) {
    const value = hardEviction.get(signal);
    if (value !== undefined) eviction.set(resource, thresholdQuantity(value, capacity.get(resource) ?? zeroQuantity));
  }
  const reservation = new Map<string, Quantity>();
  for (const name of capacity.keys()) {
    const parts = [systemReserved?.[name], kubeReserved?.[name], eviction.get(name)].filter((part) => part !== undefined);
    const sum = parts.reduce(addQuantities, zeroQuantity);
    if (!isZeroQuantity(sum)) reservation.set(name, sum);
  }
  return reservation;
}

/** Resources with reservations beyond the capacity, sorted; the agent refuses to start with any. */
export function overReserved(capacity: Quantities, reservation: Quantities): readonly string[] {
  return [...reservation].flatMap(([name, amount]) => (compareQuantities(capacity.get(name) ?? zeroQuantity, amount) < 0 ? [name] : [])).sort();
}

/** null when the reservation fits. */
export function reservationProblem(capacity: Quantities, reservation: Quantities): string | null {
  const sentences = overReserved(capacity, reservation).map((name) => {
    const [reserved, present] = [reservation.get(name) ?? zeroQuantity, capacity.get(name) ?? zeroQuantity].map(quantityText);
    return `Resource ${goQuote(name)} has a reservation of ${reserved} but capacity of ${present}. Expected capacity >= reservation.`;
  });
  return sentences.length === 0 ? null : `invalid Node Allocatable configuration. ${sentences.join(' ')}`;
}

/**
 * The lists of the node's status. Names of other writers stay; extended resources without capacity are removed from allocatable.
 * @param previous the node object's present lists
 */
export function nodeResources(machine: MachineFacts, reservation: Quantities, podCounts: PodCountLimits, devices: DeviceCapacity, previous: Partial<NodeResources>): NodeResources {
  const capacity = parsedList(previous.capacity);
  for (const [name, amount] of machineCapacity(machine)) capacity.set(name, amount);
  capacity.set('pods', quantityOf(podCapacity(machine.cpus, podCounts)));
  for (const [name, amount] of parsedList(devices.capacity)) capacity.set(name, amount);
  // Zero, not removed: a resource without a node entry would count as the cluster's.
  for (const name of devices.removed) capacity.set(name, quantityOf(0));

  const allocatable = parsedList(previous.allocatable);
  for (const name of allocatable.keys()) if (!capacity.has(name) && isExtendedResource(name)) allocatable.delete(name);
  for (const [name, amount] of capacity) {
    const reserved = reservation.get(name);
    allocatable.set(name, reserved === undefined ? atLeastZero(amount) : atLeastZero(subtractQuantities(amount, reserved)));
  }
  for (const [name, amount] of parsedList(devices.allocatable)) allocatable.set(name, amount);
  for (const [name, amount] of capacity) {
    if (isHugePageResource(name)) allocatable.set('memory', atLeastZero(subtractQuantities(allocatable.get('memory') ?? zeroQuantity, amount)));
  }
  return { capacity: resourceListOf(capacity), allocatable: resourceListOf(allocatable) };
}

function podCapacity(cpus: number, { maxPods, podsPerCore }: PodCountLimits): number {
  return podsPerCore > 0 ? Math.min(cpus * podsPerCore, maxPods) : maxPods;
}

/**
 * Limits on the cgroup of all pods: the capacity, without enforced reservations. Eviction thresholds don't count: eviction must
 * act before the kernel does.
 */
export function podsCgroupConfig(machine: MachineFacts, reserved: Omit<ReservationFacts, 'hardEviction'>, isEnforced: boolean): CgroupConfig {
  const amounts = machineCapacity(machine);
  amounts.set('pid', quantityOf(machine.maxPids));
  if (isEnforced) for (const [name, amount] of amounts) amounts.set(name, withoutReserved(name, amount, reserved));
  const hugePageLimits = new Map<bigint, bigint>();
  for (const [name, amount] of amounts) {
    const pageBytes = hugePageBytes(name);
    if (pageBytes !== null) hugePageLimits.set(pageBytes, quantityValue(amount));
  }
  return {
    ...emptyCgroupConfig,
    memoryBytes: quantityValue(amounts.get('memory') ?? zeroQuantity),
    cpuShares: milliCpuToShares(Number(quantityMilliValue(amounts.get('cpu') ?? zeroQuantity))),
    pidsLimit: Number(quantityValue(amounts.get('pid') ?? zeroQuantity)),
    hugePageLimits,
  };
}

function withoutReserved(name: string, amount: Quantity, { kubeReserved, systemReserved }: Omit<ReservationFacts, 'hardEviction'>): Quantity {
  const parts = [systemReserved?.[name], kubeReserved?.[name]].filter((part) => part !== undefined);
  return atLeastZero(parts.reduce(subtractQuantities, amount));
}

function atLeastZero(quantity: Quantity): Quantity {
  return quantitySign(quantity) < 0 ? quantityOf(0, quantity.format) : quantity;
}
