// The CPUs of an exclusive request. Packed: whole NUMA nodes and sockets, then whole caches (an option), then whole cores, then
// single CPUs, always using up partly used groups first. Distributed (an option): even shares of as few NUMA nodes as can serve it.
// Invariant: the answer has exactly the requested number of CPUs, all of them offered; otherwise it is an error that names both numbers.
import { type CpuSet, cpuSetDifference, cpuSetIntersection, cpuSetOf, cpuSetUnion } from '../values/cpu-set.js';
import type { StaticPolicyOptions } from './cpu-options.js';
import { type CpuTopology, cpusPer } from './cpu-topology.js';
import { distributedShares } from './distribute-cpus.js';
import {
  type FreeCpus,
  freeCount,
  freeCpusOf,
  freeIn,
  isNumaFirst,
  isWholeFree,
  lowestCores,
  sortedCores,
  sortedCpus,
  sortedNumaNodes,
  sortedSockets,
  sortedUncoreCaches,
  takeCpus,
} from './free-cpus.js';

export type CpuTake = { readonly ok: true; readonly cpus: CpuSet } | { readonly ok: false; readonly error: string };

/** Picks `count` of the available CPUs by the options. */
export function takeByTopology(topology: CpuTopology, options: StaticPolicyOptions, available: CpuSet, count: number): CpuTake {
  const offered = cpuSetIntersection(available, topology.all);
  if (count <= 0) return { ok: true, cpus: [] };
  if (count > offered.length) return { ok: false, error: `not enough cpus available to satisfy request: requested=${count}, available=${offered.length}` };
  const cpus = (options.distributeCpusAcrossNuma ? takeDistributed(topology, options, offered, count) : null) ?? takePacked(topology, options, offered, count);
  return { ok: true, cpus };
}

interface Take {
  readonly state: FreeCpus;
  needed: number;
}

function takePacked(topology: CpuTopology, options: StaticPolicyOptions, available: CpuSet, count: number): CpuSet {
  const take: Take = { state: freeCpusOf(topology, available), needed: count };
  const spread = options.distributeCpusAcrossCores;
  const byUncoreCache = options.preferAlignCpusByUncoreCache && !options.distributeCpusAcrossNuma;
  const steps: readonly (() => void)[] = [
    () => (isNumaFirst(take.state) ? takeWholeNumaNodes(take) : takeWholeSockets(take)),
    () => (isNumaFirst(take.state) ? takeWholeSockets(take) : takeWholeNumaNodes(take)),
    () => byUncoreCache && takeUncoreCaches(take),
    () => !spread && takeWholeCores(take),
    () => takeSingleCpus(take, spread),
  ];
  for (const step of steps) if (take.needed > 0) step();
  return cpuSetDifference(available, cpuSetOf(take.state.free));
}

function takeGroup(take: Take, cpus: CpuSet): void {
  take.needed -= takeCpus(take.state, cpus);
}

function takeWholeNumaNodes(take: Take): void {
  for (const id of sortedNumaNodes(take.state).filter((node) => isWholeFree(take.state, 'numaNode', node))) {
    const cpus = freeIn(take.state, 'numaNode', id);
    if (take.needed >= cpus.length) takeGroup(take, cpus);
  }
}

/** Sockets are compared with the average one, since some of a socket's CPUs may be offline. */
function takeWholeSockets(take: Take): void {
  const average = cpusPer(take.state.topology, 'socket');
  for (const id of sortedSockets(take.state).filter((socket) => freeCount(take.state, 'socket', socket) === average)) {
    const cpus = freeIn(take.state, 'socket', id);
    if (take.needed >= cpus.length) takeGroup(take, cpus);
  }
}

/** Whole caches, and of the last one just enough cores, if those serve the rest of the request exactly. */
function takeUncoreCaches(take: Take): void {
  const average = cpusPer(take.state.topology, 'uncoreCache');
  for (const id of sortedUncoreCaches(take.state)) {
    if (take.needed >= average) takeWholeUncoreCaches(take);
    if (take.needed <= 0) return;
    takePartOfUncoreCache(take, id);
    if (take.needed <= 0) return;
  }
}

function takeWholeUncoreCaches(take: Take): void {
  for (const id of sortedUncoreCaches(take.state).filter((cache) => isWholeFree(take.state, 'uncoreCache', cache))) {
    const cpus = freeIn(take.state, 'uncoreCache', id);
    if (take.needed >= cpus.length) takeGroup(take, cpus);
  }
}

function takePartOfUncoreCache(take: Take, id: number): void {
  const width = take.state.topology.smtWidth;
  const cores = lowestCores(take.state, id, Math.ceil(take.needed / width));
  let cpus = cpuSetOf(cores.flatMap((core) => freeIn(take.state, 'core', core)));
  // An odd request needs one thread of its last core only.
  if (take.needed % 2 !== 0 && width > 1 && cpus.length > take.needed) cpus = cpus.slice(0, -1);
  if (cpus.length === take.needed) takeGroup(take, cpus);
}

/** Wide cores first if they differ: narrow ones can fill any remaining gap. */
function takeWholeCores(take: Take): void {
  const whole = sortedCores(take.state).filter((core) => isWholeFree(take.state, 'core', core));
  for (let width = take.state.topology.smtWidth; width > 0; width--) {
    for (const id of whole) {
      if (take.needed < width) break;
      if (freeCount(take.state, 'core', id) === width) takeGroup(take, freeIn(take.state, 'core', id));
    }
  }
}

function takeSingleCpus(take: Take, spread: boolean): void {
  takeGroup(take, sortedCpus(take.state, spread).slice(0, take.needed));
}

/** null: no NUMA nodes can share the request evenly. */
function takeDistributed(topology: CpuTopology, options: StaticPolicyOptions, available: CpuSet, count: number): CpuSet | null {
  const groupSize = options.fullPcpusOnly ? topology.smtWidth : 1;
  const state = freeCpusOf(topology, available);
  const shares = distributedShares(state, count, groupSize);
  if (shares === null) return null;
  let taken: CpuSet = [];
  for (const { numaNode, cpus } of shares) {
    const part = takePacked(topology, options, freeIn(state, 'numaNode', numaNode), cpus);
    takeCpus(state, part);
    taken = cpuSetUnion(taken, part);
  }
  return taken.length === count ? taken : null;
}
