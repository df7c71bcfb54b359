// The free CPUs during an allocation, counted by core, socket, NUMA node and cache.
// Invariants: it contains only offered CPUs, so only those can be allocated; counts always match the set. Taking a
// CPU has constant cost; ordering groups costs a sort of the groups, not of CPUs.
import { type CpuSet, cpuSetOf } from '../values/cpu-set.js';
import type { CpuLevel, CpuTopology } from './cpu-topology.js';

const levels = ['core', 'socket', 'numaNode', 'uncoreCache'] as const satisfies readonly CpuLevel[];

export interface FreeCpus {
  readonly topology: CpuTopology;
  readonly free: Set<number>;
  /** Per level: group id -> its number of free CPUs; omits groups without any. */
  readonly counts: Readonly<Record<CpuLevel, Map<number, number>>>;
}

export function freeCpusOf(topology: CpuTopology, available: CpuSet): FreeCpus {
  const counts = { core: new Map<number, number>(), socket: new Map<number, number>(), numaNode: new Map<number, number>(), uncoreCache: new Map<number, number>() };
  const free = new Set<number>();
  for (const cpu of available) {
    const info = topology.cpus.get(cpu);
    if (info === undefined) continue;
    free.add(cpu);
    for (const level of levels) counts[level].set(info[level], (counts[level].get(info[level]) ?? 0) + 1);
  }
  return { topology, free, counts };
}

/** CPUs that are not free are passed over: they were not offered, or are taken already. Answers with how many were taken. */
export function takeCpus(state: FreeCpus, cpus: Iterable<number>): number {
  let taken = 0;
  for (const cpu of cpus) {
    if (!state.free.delete(cpu)) continue;
    taken++;
    const info = state.topology.cpus.get(cpu)!;
    for (const level of levels) {
      const left = state.counts[level].get(info[level])! - 1;
      if (left === 0) state.counts[level].delete(info[level]);
      else state.counts[level].set(info[level], left);
    }
  }
  return taken;
}

export function freeCount(state: FreeCpus, level: CpuLevel, id: number): number {
  return state.counts[level].get(id) ?? 0;
}

/** Ascending. */
export function freeIn(state: FreeCpus, level: CpuLevel, id: number): CpuSet {
  return (state.topology.groups[level].get(id) ?? []).filter((cpu) => state.free.has(cpu));
}

/** Whether every CPU of the group is free. */
export function isWholeFree(state: FreeCpus, level: CpuLevel, id: number): boolean {
  return freeCount(state, level, id) === state.topology.groups[level].get(id)?.length;
}

/** Groups with free CPUs: fewest free CPUs first, then by id, so that partly used groups are used up first. */
function groupsByFreeCount(state: FreeCpus, level: CpuLevel, ids: Iterable<number> = state.counts[level].keys()): number[] {
  const counts = state.counts[level];
  return [...ids].sort((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0) || a - b);
}

/** Groups of one level inside the groups of another, in the order of the outer ones; a group that spans several counts with the first. */
function nested(state: FreeCpus, outer: CpuLevel, outerIds: readonly number[], inner: CpuLevel): number[] {
  const members = new Map<number, Set<number>>();
  for (const cpu of state.free) {
    const info = state.topology.cpus.get(cpu)!;
    const of = members.get(info[outer]);
    if (of === undefined) members.set(info[outer], new Set([info[inner]]));
    else of.add(info[inner]);
  }
  return [...new Set(outerIds.flatMap((id) => groupsByFreeCount(state, inner, members.get(id) ?? [])))];
}

/** Whether NUMA nodes are the larger unit: then whole nodes are tried before whole sockets. */
export function isNumaFirst({ topology }: FreeCpus): boolean {
  return topology.groups.socket.size >= topology.groups.numaNode.size;
}

export function sortedNumaNodes(state: FreeCpus): number[] {
  return isNumaFirst(state) ? groupsByFreeCount(state, 'numaNode') : nested(state, 'socket', groupsByFreeCount(state, 'socket'), 'numaNode');
}

export function sortedSockets(state: FreeCpus): number[] {
  return isNumaFirst(state) ? nested(state, 'numaNode', groupsByFreeCount(state, 'numaNode'), 'socket') : groupsByFreeCount(state, 'socket');
}

export function sortedUncoreCaches(state: FreeCpus): number[] {
  return nested(state, 'numaNode', sortedNumaNodes(state), 'uncoreCache');
}

export function sortedCores(state: FreeCpus): number[] {
  return isNumaFirst(state) ? nested(state, 'socket', sortedSockets(state), 'core') : nested(state, 'numaNode', sortedNumaNodes(state), 'core');
}

/** Single CPUs in the order to use them up: core by core, or spread over the sockets' cores. */
export function sortedCpus(state: FreeCpus, spread: boolean): number[] {
  const level = spread ? 'socket' : 'core';
  const ids = spread ? sortedSockets(state) : sortedCores(state);
  return ids.flatMap((id) => freeIn(state, level, id));
}

/** Lowest `count` cores of a cache that have free CPUs. */
export function lowestCores(state: FreeCpus, uncoreCache: number, count: number): CpuSet {
  const cores = freeIn(state, 'uncoreCache', uncoreCache).map((cpu) => state.topology.cpus.get(cpu)!.core);
  return cpuSetOf(cores).slice(0, count);
}
