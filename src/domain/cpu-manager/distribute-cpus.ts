// Option distribute-cpus-across-numa: how many CPUs of which NUMA nodes serve a request in even shares.
// As few nodes as possible; among choices of the same number, the one with the most even load. A remainder
// is allocated in groups, to as many of the chosen nodes as possible.
// Invariant: the shares of a node never exceed its free CPUs, and all shares together are the request.
import { forEachCombination } from '../topology-manager/numa-mask.js';
import { type FreeCpus, freeCount, sortedNumaNodes } from './free-cpus.js';

export interface NumaShare {
  readonly numaNode: number;
  readonly cpus: number;
}

/** In allocation order. null: the request can't be shared evenly, and must be packed. */
export function distributedShares(state: FreeCpus, count: number, groupSize: number): readonly NumaShare[] | null {
  if (count % groupSize !== 0) return null;
  const nodes = sortedNumaNodes(state);
  const free = new Map(nodes.map((node) => [node, freeCount(state, 'numaNode', node)]));
  const { topology } = state;
  const groupsPerNode = Math.ceil(Math.ceil(topology.all.length / groupSize) / topology.groups.numaNode.size);
  const groupsNeeded = Math.ceil(count / groupSize);
  for (let size = Math.ceil(groupsNeeded / groupsPerNode); size <= Math.min(groupsNeeded, nodes.length); size++) {
    const best = bestChoice(nodes, free, size, count, groupSize);
    if (best !== null) return sharesOf(best, free, count, groupSize);
  }
  return null;
}

interface Choice {
  readonly nodes: readonly number[];
  /** Nodes for the remainder, in groups and in turn. */
  readonly remainderNodes: readonly number[];
  /** Lower is better. */
  readonly imbalance: number;
}

function evenShare(count: number, nodes: number, groupSize: number): number {
  return Math.floor(Math.floor(count / nodes) / groupSize) * groupSize;
}

function bestChoice(nodes: readonly number[], free: ReadonlyMap<number, number>, size: number, count: number, groupSize: number): Choice | null {
  let best: Choice | null = null;
  const share = evenShare(count, size, groupSize);
  forEachCombination(nodes, size, (chosen) => {
    if (best?.imbalance === 0) return false;
    const groups = chosen.reduce((sum, node) => sum + Math.floor(free.get(node)! / groupSize), 0);
    if (groups * groupSize < count || chosen.some((node) => free.get(node)! < share)) return true;
    const choice = withRemainder(chosen, free, count - share * size, share, groupSize);
    if (choice !== null && (best === null || choice.imbalance < best.imbalance)) best = choice;
    return true;
  });
  return best;
}

/** The choice with the best nodes for the remainder; null when it fits nowhere. */
function withRemainder(nodes: readonly number[], free: ReadonlyMap<number, number>, remainder: number, share: number, groupSize: number): Choice | null {
  const left = new Map(free);
  for (const node of nodes) left.set(node, free.get(node)! - share);
  if (remainder === 0) return { nodes, remainderNodes: [], imbalance: standardDeviation([...left.values()]) };
  const candidates = nodes.filter((node) => left.get(node)! >= groupSize);
  let best: Choice | null = null;
  for (let size = candidates.length; size >= 1; size--) {
    forEachCombination(candidates, size, (subset) => {
      const after = handOut(subset, left, remainder, groupSize);
      if (after === null) return true;
      const imbalance = standardDeviation([...after.values()]);
      if (best === null || imbalance < best.imbalance) best = { nodes, remainderNodes: subset, imbalance };
      return true;
    });
  }
  return best;
}

/** The free CPUs after the remainder is allocated in turn, a group at a time; null if it doesn't fit. */
function handOut(nodes: readonly number[], free: ReadonlyMap<number, number>, remainder: number, groupSize: number): Map<number, number> | null {
  const after = new Map(free);
  let rest = remainder;
  while (rest > 0) {
    const before = rest;
    for (const node of nodes) {
      if (rest === 0 || after.get(node)! < groupSize) continue;
      after.set(node, after.get(node)! - groupSize);
      rest -= groupSize;
    }
    if (rest === before) return null;
  }
  return after;
}

function sharesOf(choice: Choice, free: ReadonlyMap<number, number>, count: number, groupSize: number): NumaShare[] {
  const share = evenShare(count, choice.nodes.length, groupSize);
  const shares: NumaShare[] = choice.nodes.map((numaNode) => ({ numaNode, cpus: share }));
  const left = new Map(choice.nodes.map((node) => [node, free.get(node)! - share]));
  for (let rest = count - share * choice.nodes.length; rest > 0; ) {
    for (const numaNode of choice.remainderNodes) {
      if (rest === 0 || left.get(numaNode)! < groupSize) continue;
      left.set(numaNode, left.get(numaNode)! - groupSize);
      shares.push({ numaNode, cpus: groupSize });
      rest -= groupSize;
    }
  }
  return shares;
}

/** Rounded to thousandths, like its mean: choices that differ by less are equal. */
function standardDeviation(values: readonly number[]): number {
  const rounded = (value: number): number => Math.round(value * 1000) / 1000;
  const mean = rounded(values.reduce((sum, value) => sum + value, 0) / values.length);
  return rounded(Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length));
}
