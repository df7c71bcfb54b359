// The memory of each NUMA node as the memory manager counts it: the machine's, the system reservation, and the containers'.
// Invariants: reserved + free = allocatable on every node; a node is used either alone or in one group of nodes.

import type { ResourceList } from '../../ports/model/container.js';
import { parsedList } from '../qos/pod-resources.js';
import { addQuantities, compareQuantities, exactInt64, type Quantity, quantityOf, quantityText, zeroQuantity } from '../values/quantity.js';
import { byCodeUnits } from '../values/text-order.js';

/** A NUMA node as the machine reports it. */
export interface NumaMemory {
  readonly id: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly { readonly pageSizeKiB: number; readonly numPages: number }[];
}

/** Bytes of one kind of memory on one node; changed in place. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  reserved: number;
  free: number;
}

export interface NumaNodeState {
  /** One for each kind of memory of each container. */
  numberOfAssignments: number;
  /** `memory` or a huge page resource -> bytes. */
  readonly memoryMap: Map<string, MemoryTable>;
  /** Nodes that serve containers together with this one, itself included. */
  cells: readonly number[];
}

/** By node id. */
export type MachineState = Map<number, NumaNodeState>;

export interface MemoryBlock {
  /** Ascending. */
  readonly numaAffinity: readonly number[];
  /** `memory` or a huge page resource. */
  readonly type: string;
  readonly size: number;
}

/** The configuration's `reservedMemory`. */
export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: ResourceList;
}

export function isMemoryResource(name: string): boolean {
  return name === 'memory' || name.startsWith('hugepages-');
}

/** Node id -> resource -> bytes that are the system's. */
export type ReservedBytes = ReadonlyMap<number, ReadonlyMap<string, number>>;

export type ReservedMemoryResult = { readonly ok: true; readonly reserved: ReservedBytes } | { readonly ok: false; readonly error: string };

/** Checks that the nodes' reservations add up to the total, kind by kind. */
export function reservedBytes(machine: readonly NumaMemory[], nodeReservation: ReadonlyMap<string, Quantity>, reservations: readonly MemoryReservation[]): ReservedMemoryResult {
  const totals = new Map<string, Quantity>();
  for (const { numaNode, limits } of reservations) {
    if (!machine.some(({ id }) => id === numaNode)) {
      return { ok: false, error: `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine` };
    }
    for (const [name, amount] of parsedList(limits)) totals.set(name, addQuantities(totals.get(name) ?? zeroQuantity, amount));
  }
  const kinds = new Set([...totals.keys(), ...[...nodeReservation.keys()].filter(isMemoryResource)]);
  for (const kind of [...kinds].sort(byCodeUnits)) {
    const total = totals.get(kind) ?? zeroQuantity;
    const wanted = nodeReservation.get(kind) ?? zeroQuantity;
    if (compareQuantities(total, wanted) !== 0) {
      const amounts = [quantityText(total), kind, quantityText(wanted)].map((text) => JSON.stringify(text));
      return { ok: false, error: `the total amount ${amounts[0]} of type ${amounts[1]} is not equal to the value ${amounts[2]} determined by Node Allocatable feature` };
    }
  }
  const reserved = new Map<number, Map<string, number>>();
  for (const { numaNode, limits } of reservations) {
    const ofNode = reserved.get(numaNode) ?? new Map<string, number>();
    reserved.set(numaNode, ofNode);
    for (const [name, amount] of parsedList(limits)) {
      const bytes = exactInt64(amount);
      // The misspelling is the kubelet's.
      if (bytes === null) return { ok: false, error: 'could not covert a variable of type Quantity to int64' };
      // A second amount for the same node and type replaces the first one; the configuration is refused before.
      ofNode.set(name, Number(bytes));
    }
  }
  return { ok: true, reserved };
}

/** The machine without any container. */
export function emptyMachineState(machine: readonly NumaMemory[], reserved: ReservedBytes): MachineState {
  return new Map(machine.map((node) => [node.id, { numberOfAssignments: 0, memoryMap: nodeTables(node, reserved.get(node.id) ?? new Map()), cells: [node.id] }]));
}

function nodeTables(node: NumaMemory, reserved: ReadonlyMap<string, number>): Map<string, MemoryTable> {
  const tables = new Map<string, MemoryTable>();
  let hugePages = 0;
  for (const { pageSizeKiB, numPages } of node.hugePages) {
    const name = `hugepages-${quantityText(quantityOf(pageSizeKiB * 1024, 'BinarySI'))}`;
    const total = pageSizeKiB * 1024 * numPages;
    hugePages += total;
    tables.set(name, table(total, reserved.get(name) ?? 0, 0));
  }
  return tables.set('memory', table(node.memoryBytes, reserved.get('memory') ?? 0, hugePages));
}

/** `elsewhere`: the part of the total with another use. Reservations beyond the total leave nothing. */
function table(total: number, systemReserved: number, elsewhere: number): MemoryTable {
  const allocatable = Math.max(0, total - systemReserved - elsewhere);
  return { total, systemReserved, allocatable, reserved: 0, free: allocatable };
}

/** Books memory on nodes in their order; every node of the block counts an assignment, even those that nothing is taken from. */
export function chargeMemory(machine: MachineState, block: MemoryBlock): void {
  let rest = block.size;
  for (const id of block.numaAffinity) {
    const node = machine.get(id)!;
    node.numberOfAssignments++;
    node.cells = block.numaAffinity;
    const memory = node.memoryMap.get(block.type);
    if (memory === undefined) continue;
    const taken = Math.min(rest, memory.free);
    memory.reserved += taken;
    memory.free -= taken;
    rest -= taken;
  }
}

/** The reverse. A node that nothing is assigned to any more leaves its group. */
export function releaseMemory(machine: MachineState, block: MemoryBlock): void {
  let rest = block.size;
  for (const id of block.numaAffinity) {
    const node = machine.get(id);
    if (node === undefined) continue;
    node.numberOfAssignments--;
    if (node.numberOfAssignments === 0) node.cells = [id];
    const memory = node.memoryMap.get(block.type);
    if (memory === undefined) continue;
    const released = Math.min(rest, memory.reserved);
    memory.free += released;
    memory.reserved -= released;
    rest -= released;
  }
}

/**
 * Whether two states are equal: counts, groups and sizes node by node. Free and reserved amounts are compared as sums over each group, since the order of past
 * releases decides which of a group's nodes has them.
 */
export function sameMachineState(a: MachineState, b: MachineState): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([id, left]) => {
    const right = b.get(id);
    if (right === undefined || left.numberOfAssignments !== right.numberOfAssignments || !sameNodes(left.cells, right.cells)) return false;
    if (left.memoryMap.size !== right.memoryMap.size) return false;
    return [...left.memoryMap].every(([name, memory]) => {
      const other = right.memoryMap.get(name);
      if (other === undefined || memory.total !== other.total || memory.systemReserved !== other.systemReserved || memory.allocatable !== other.allocatable) return false;
      return (['free', 'reserved', 'systemReserved'] as const).every((what) => sumOver(a, left.cells, name, what) === sumOver(b, left.cells, name, what));
    });
  });
}

export function sumOver(machine: MachineState, nodes: readonly number[], resource: string, what: 'free' | 'reserved' | 'systemReserved' | 'allocatable'): number {
  return nodes.reduce((sum, id) => sum + (machine.get(id)?.memoryMap.get(resource)?.[what] ?? 0), 0);
}

/** Compares the nodes as sets. */
export function sameNodes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}
