// The last reading of a cgroup, with its CPU rate over the time since the reading before, and when it is read again.
// Invariants: a rate is of two readings of one counter; a counter that went back has no rate until it was read twice again.
import type { Micros } from '../../ports/micros.js';
import type { CgroupReading } from '../../ports/model/cgroup-sample.js';
import { microsPerSecond } from './time.js';

/** A reading as it comes from the kernel, which knows no rates. */
export type RawCgroupReading = Omit<CgroupReading, 'cpu'> & { readonly cpu: { readonly usageCoreNanoSeconds: number } | null };

export interface SampleWindow {
  readonly reading: CgroupReading | null;
  /** Between two readings; longer while nothing changes. */
  readonly interval: Micros;
}

const shortestInterval: Micros = 10 * microsPerSecond;
const longestInterval: Micros = 15 * microsPerSecond;

export const emptyWindow: SampleWindow = { reading: null, interval: shortestInterval };

/** Takes a reading in. One that is not newer than the last, such as a forced one at the same moment, keeps its rate. */
export function sampled(window: SampleWindow, raw: RawCgroupReading): SampleWindow {
  const last = window.reading;
  const { time, at, cpu, memory, network, processCount, diskIo, pressure } = raw;
  const rated = cpu === null ? null : { usageCoreNanoSeconds: cpu.usageCoreNanoSeconds, usageNanoCores: rateOf(last, raw) };
  const reading: CgroupReading = { time, at, cpu: rated, memory, network, processCount, diskIo, pressure };
  const unchanged = last !== null && isSame(last, reading);
  return { reading, interval: unchanged ? Math.min(window.interval * 2, longestInterval) : shortestInterval };
}

function rateOf(last: CgroupReading | null, raw: RawCgroupReading): number | null {
  if (last === null || last.cpu === null || raw.cpu === null) return null;
  const elapsed = raw.at - last.at;
  if (elapsed <= 0) return last.cpu.usageNanoCores;
  const used = raw.cpu.usageCoreNanoSeconds - last.cpu.usageCoreNanoSeconds;
  return used < 0 ? null : Math.trunc((used * microsPerSecond) / elapsed);
}

/** Times and rates aside. */
function isSame(a: CgroupReading, b: CgroupReading): boolean {
  return a.cpu?.usageCoreNanoSeconds === b.cpu?.usageCoreNanoSeconds && isSameMemory(a.memory, b.memory) && isSameNetwork(a.network, b.network);
}

function isSameMemory(a: CgroupReading['memory'], b: CgroupReading['memory']): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.usageBytes === b.usageBytes &&
    a.workingSetBytes === b.workingSetBytes &&
    a.rssBytes === b.rssBytes &&
    a.swapBytes === b.swapBytes &&
    a.pageFaults === b.pageFaults &&
    a.majorPageFaults === b.majorPageFaults
  );
}

function isSameNetwork(a: CgroupReading['network'], b: CgroupReading['network']): boolean {
  return (
    a.length === b.length &&
    a.every((one, i) => {
      const other = b[i];
      if (other === undefined) return false;
      return one.name === other.name && one.rxBytes === other.rxBytes && one.rxErrors === other.rxErrors && one.txBytes === other.txBytes && one.txErrors === other.txErrors;
    })
  );
}

/** When to read again. @param random in [0, 1): readings of many cgroups spread out */
export function nextSampleAt(window: SampleWindow, random: number, now: Micros): Micros {
  return now + Math.floor(window.interval * (1 + random));
}
