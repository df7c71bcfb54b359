// The observation of each signal in the stats summary: the available amount, the capacity, and the time of the measurement.
// Invariant: a signal has an observation only if both numbers were measured.
import type { Micros } from '../../ports/micros.js';
import type { Timestamp } from '../../ports/model/object-meta.js';
import type { FsStats, MemoryStats, PodStats, StatsSummary } from '../../ports/model/stats-summary.js';
import { epochMicros } from '../values/instant.js';
import { type Quantity, quantityOf } from '../values/quantity.js';
import { parseRfc3339 } from '../values/time.js';
import type { EvictionSignal } from './signals.js';

export interface SignalObservation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** The moment of the summary's timestamp, by the monotonic clock: later ones are newer even after the wall clock was set back. null: no timestamp. */
  readonly time: Micros | null;
}

export type SignalObservations = ReadonlyMap<EvictionSignal, SignalObservation>;

/** The system container that represents all pods together. */
const podsContainer = 'pods';

/** @param wallOffset how far the wall clock is ahead of the other one now */
export function observeSignals(summary: StatsSummary, wallOffset: Micros): SignalObservations {
  const { node } = summary;
  const observations = new Map<EvictionSignal, SignalObservation>();
  const observe = (signal: EvictionSignal, observation: SignalObservation | null): void => {
    if (observation !== null) observations.set(signal, observation);
  };
  const observeFs = (fs: 'nodefs' | 'imagefs' | 'containerfs', stats: FsStats | undefined): void => {
    observe(`${fs}.available`, measured({ available: stats?.availableBytes, capacity: stats?.capacityBytes, time: stats?.time, format: 'BinarySI', wallOffset }));
    observe(`${fs}.inodesFree`, measured({ available: stats?.inodesFree, capacity: stats?.inodes, time: stats?.time, format: 'DecimalSI', wallOffset }));
  };
  observe('memory.available', observedMemory(node.memory, wallOffset));
  observe('allocatableMemory.available', observedMemory(node.systemContainers?.find(({ name }) => name === podsContainer)?.memory, wallOffset));
  observeFs('nodefs', node.fs);
  observeFs('imagefs', node.runtime?.imageFs);
  observeFs('containerfs', node.runtime?.containerFs);
  const pids = node.rlimit;
  if (pids?.maxpid !== undefined && pids.curproc !== undefined) {
    observe('pid.available', measured({ available: pids.maxpid - pids.curproc, capacity: pids.maxpid, time: pids.time, format: 'DecimalSI', wallOffset }));
  }
  return observations;
}

/**
 * What was measured now; of a signal that could not be read, the last observation. That one is not newer than itself, so that it never acts again, and a
 * shortage that it shows lasts until the signal is read.
 * @param before see `withTimes`
 */
export function withLastKnown(now: SignalObservations, before: SignalObservations): SignalObservations {
  const unread = [...before].filter(([signal]) => !now.has(signal));
  return unread.length === 0 ? now : new Map([...now, ...unread]);
}

/** An observation without a timestamp counts as older than any other. */
export function withTimes(observations: SignalObservations): SignalObservations {
  if ([...observations.values()].every(({ time }) => time !== null)) return observations;
  return new Map([...observations].map(([signal, observation]) => [signal, { ...observation, time: observation.time ?? 0 }]));
}

/** By uid. */
export function statsByPod(summary: StatsSummary): ReadonlyMap<string, PodStats> {
  return new Map((summary.pods ?? []).map((stats) => [stats.podRef.uid, stats]));
}

/** The memory besides the pages in use; the capacity is both together, since a cgroup's limit isn't the machine's. */
function observedMemory(memory: MemoryStats | undefined, wallOffset: Micros): SignalObservation | null {
  if (memory?.availableBytes === undefined || memory.workingSetBytes === undefined) return null;
  const { availableBytes, workingSetBytes, time } = memory;
  return measured({ available: availableBytes, capacity: availableBytes + workingSetBytes, time, format: 'BinarySI', wallOffset });
}

interface Measured {
  readonly available: number | undefined;
  readonly capacity: number | undefined;
  readonly time: Timestamp | undefined;
  readonly format: 'BinarySI' | 'DecimalSI';
  readonly wallOffset: Micros;
}

function measured({ available, capacity, time, format, wallOffset }: Measured): SignalObservation | null {
  if (available === undefined || capacity === undefined) return null;
  const stamp = time === undefined ? null : parseRfc3339(time);
  return { available: quantityOf(available, format), capacity: quantityOf(capacity, format), time: stamp === null ? null : epochMicros(stamp) - wallOffset };
}
