// The machine's CPUs: which core, socket, NUMA node and uncore (L3) cache each belongs to.
// Invariants: a core is named by its lowest CPU id; every CPU is in exactly one core, socket, node and cache. Cores may differ in their
// number of threads (hybrid processors), so no code computes a core's CPUs from an average.
import { type CpuSet, cpuSetOf } from '../values/cpu-set.js';

/** A physical core as the machine reports it. */
export interface PhysicalCore {
  readonly numaNode: number;
  readonly socket: number;
  /** null: not known; then the cache is the socket's. */
  readonly uncoreCache: number | null;
  /** CPU ids. */
  readonly threads: readonly number[];
}

export interface CpuInfo {
  readonly cpu: number;
  readonly core: number;
  readonly socket: number;
  readonly numaNode: number;
  readonly uncoreCache: number;
}

/** What CPUs are grouped by. */
export type CpuLevel = 'core' | 'socket' | 'numaNode' | 'uncoreCache';

export interface CpuTopology {
  readonly cpus: ReadonlyMap<number, CpuInfo>;
  /** All CPU ids. */
  readonly all: CpuSet;
  /** For each level: group id -> its CPUs. */
  readonly groups: Readonly<Record<CpuLevel, ReadonlyMap<number, CpuSet>>>;
  /** Threads of the widest core: how many CPUs a request must be a multiple of so that whole cores can serve it. */
  readonly smtWidth: number;
}

export type TopologyDiscovery = { readonly ok: true; readonly topology: CpuTopology } | { readonly ok: false; readonly error: string };

export function discoverCpuTopology(cores: readonly PhysicalCore[]): TopologyDiscovery {
  if (cores.every(({ threads }) => threads.length === 0)) return { ok: false, error: 'could not detect number of cpus' };
  const cpus = new Map<number, CpuInfo>();
  for (const { numaNode, socket, uncoreCache, threads } of cores) {
    if (threads.length === 0) return { ok: false, error: 'no cpus provided' };
    if (new Set(threads).size !== threads.length) return { ok: false, error: 'cpus provided are not unique' };
    const core = Math.min(...threads);
    for (const cpu of threads) cpus.set(cpu, { cpu, core, socket, numaNode, uncoreCache: uncoreCache ?? socket });
  }
  const all = cpuSetOf(cpus.keys());
  const grouped = (level: CpuLevel): ReadonlyMap<number, CpuSet> => {
    const groups = new Map<number, number[]>();
    for (const cpu of all) {
      const id = cpus.get(cpu)![level];
      const members = groups.get(id);
      if (members === undefined) groups.set(id, [cpu]);
      else members.push(cpu);
    }
    return groups;
  };
  const groups = { core: grouped('core'), socket: grouped('socket'), numaNode: grouped('numaNode'), uncoreCache: grouped('uncoreCache') };
  return { ok: true, topology: { cpus, all, groups, smtWidth: Math.max(...[...groups.core.values()].map(({ length }) => length)) } };
}

/** Whole CPUs in a group on average. */
export function cpusPer(topology: CpuTopology, level: CpuLevel): number {
  return Math.floor(topology.all.length / topology.groups[level].size);
}

/** All CPUs of these groups, free or not. */
export function cpusIn(topology: CpuTopology, level: CpuLevel, ids: Iterable<number>): CpuSet {
  return cpuSetOf([...ids].flatMap((id) => topology.groups[level].get(id) ?? []));
}

/** Groups of a level with these CPUs, ascending. CPUs that the machine lacks are in none. */
export function groupsOf(topology: CpuTopology, level: CpuLevel, cpus: Iterable<number>): CpuSet {
  const ids = new Set<number>();
  for (const cpu of cpus) {
    const info = topology.cpus.get(cpu);
    if (info !== undefined) ids.add(info[level]);
  }
  return cpuSetOf(ids);
}
