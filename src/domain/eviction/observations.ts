// What the stats summary says of each signal: how much is available, of how much, and when that was measured.
// Invariant: a signal has an observation only if both numbers were measured.
import type { Micros } from '../../ports/micros.js';
import type { Timestamp } from '../../ports/model/object-meta.js';
import type { FsStats, MemoryStats, PodStats, StatsSummary } from '../../ports/model/stats-summary.js';
import { type Quantity, quantityOf } from '../values/quantity.js';
import { parseRfc3339 } from '../values/time.js';
import type { EvictionSignal } from './signals.js';

export interface SignalObservation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** null when the summary doesn't say. */
  readonly time: Micros | null;
}

export type SignalObservations = ReadonlyMap<EvictionSignal, SignalObservation>;

/** The system container that stands for all pods together. */
const podsContainer = 'pods';

export function observeSignals(summary: StatsSummary): SignalObservations {
  const { node } = summary;
  const observations = new Map<EvictionSignal, SignalObservation>();
  const observe = (signal: EvictionSignal, observation: SignalObservation | null): void => {
    if (observation !== null) observations.set(signal, observation);
  };
  const observeFs = (fs: 'nodefs' | 'imagefs' | 'containerfs', stats: FsStats | undefined): void => {
    observe(`${fs}.available`, measured(stats?.availableBytes, stats?.capacityBytes, stats?.time, 'BinarySI'));
    observe(`${fs}.inodesFree`, measured(stats?.inodesFree, stats?.inodes, stats?.time, 'DecimalSI'));
  };
  observe('memory.available', observedMemory(node.memory));
  observe('allocatableMemory.available', observedMemory(node.systemContainers?.find(({ name }) => name === podsContainer)?.memory));
  observeFs('nodefs', node.fs);
  observeFs('imagefs', node.runtime?.imageFs);
  observeFs('containerfs', node.runtime?.containerFs);
  const pids = node.rlimit;
  if (pids?.maxpid !== undefined && pids.curproc !== undefined) observe('pid.available', measured(pids.maxpid - pids.curproc, pids.maxpid, pids.time, 'DecimalSI'));
  return observations;
}

/** By uid. */
export function statsByPod(summary: StatsSummary): ReadonlyMap<string, PodStats> {
  return new Map((summary.pods ?? []).map((stats) => [stats.podRef.uid, stats]));
}

/** What the pages in use leave; the capacity is both together, since a cgroup's limit isn't the machine's. */
function observedMemory(memory: MemoryStats | undefined): SignalObservation | null {
  if (memory?.availableBytes === undefined || memory.workingSetBytes === undefined) return null;
  return measured(memory.availableBytes, memory.availableBytes + memory.workingSetBytes, memory.time, 'BinarySI');
}

function measured(available: number | undefined, capacity: number | undefined, time: Timestamp | undefined, format: 'BinarySI' | 'DecimalSI'): SignalObservation | null {
  if (available === undefined || capacity === undefined) return null;
  return { available: quantityOf(available, format), capacity: quantityOf(capacity, format), time: time === undefined ? null : parseRfc3339(time) };
}
