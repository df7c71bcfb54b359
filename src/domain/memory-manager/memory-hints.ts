// Topology hints of the memory manager: the sets of NUMA nodes that can serve a request now. All memory types of a request come from the same nodes, so they
// share one list.
import { forEachSubset } from '../topology-manager/numa-mask.js';
import type { TopologyHint } from '../topology-manager/topology-hint.js';
import { type MachineState, sameNodes, sumOver } from './machine-memory.js';

/** Kind of memory -> bytes. */
export type MemoryRequest = ReadonlyMap<string, number>;

/** A hint that names its nodes. */
export interface MemoryHint extends TopologyHint {
  readonly numaNodes: readonly number[];
}

/** `reusable`: bytes that the pod's finished init containers leave on exactly these nodes. */
export function memoryHints(machine: MachineState, request: MemoryRequest, reusable: (nodes: readonly number[], type: string) => number): MemoryHint[] {
  const nodes = [...machine.keys()].sort((a, b) => a - b);
  let fewest = nodes.length;
  const fitting: (readonly number[])[] = [];
  forEachSubset(nodes, (subset) => {
    if ([...request].some(([type, bytes]) => sumOver(machine, subset, type, 'allocatable') < bytes)) return;
    fewest = Math.min(fewest, subset.length);
    if (!mayBeUsedTogether(machine, subset)) return;
    if ([...request].every(([type, bytes]) => sumOver(machine, subset, type, 'free') + reusable(subset, type) >= bytes)) fitting.push(subset);
  });
  return fitting.map((numaNodes) => ({ numaNodes, preferred: numaNodes.length === fewest }));
}

/** A node serves containers alone or in one group, never both at a time. */
function mayBeUsedTogether(machine: MachineState, nodes: readonly number[]): boolean {
  return !isPartOfGroup(machine, nodes) && !breaksGroups(machine, nodes);
}

/** Whether this is a single node that serves containers together with others. */
export function isPartOfGroup(machine: MachineState, nodes: readonly number[]): boolean {
  return nodes.length === 1 && machine.get(nodes[0]!)!.cells.length > 1;
}

/** Whether several nodes can't be used together because one of them is in use alone, or in another group. */
export function breaksGroups(machine: MachineState, nodes: readonly number[]): boolean {
  if (nodes.length === 1) return false;
  return nodes.some((id) => {
    const node = machine.get(id)!;
    return node.numberOfAssignments > 0 && (node.cells.length === 1 || !sameNodes(node.cells, nodes));
  });
}

/** Preferred ones first, then fewer nodes, then lower ones. Lists as made by `memoryHints`: smaller sets first. null if empty. */
export function bestMemoryHint(hints: readonly MemoryHint[]): MemoryHint | null {
  let best: MemoryHint | null = null;
  for (const hint of hints) {
    if (best === null || (hint.preferred && !best.preferred) || (hint.preferred === best.preferred && isNarrower(hint.numaNodes, best.numaNodes))) best = hint;
  }
  return best;
}

/** Sets of equal size compare by mask value: the highest node that differs decides. */
function isNarrower(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return a.length < b.length;
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return a[i]! < b[i]!;
  return false;
}
