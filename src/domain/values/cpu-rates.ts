// CPU rates of containers for which the runtime reports only a running total: from two readings, taken by the eviction manager's pass.
// Invariants: readers never change stored data, so that all see the rate over the same window; a counter that decreased starts again.
import type { Micros } from '../../ports/micros.js';

export interface RuntimeCpuReading {
  /** When the runtime read it, in its own clock. */
  readonly timeNanos: bigint;
  readonly usageCoreNanoSeconds: bigint | null;
  /** The runtime's own rate; null: it gives none. */
  readonly usageNanoCores: bigint | null;
}

interface StoredRate {
  readonly timeNanos: bigint;
  readonly usageCoreNanoSeconds: bigint;
  readonly usageNanoCores: number | null;
  readonly storedAt: Micros;
}

/** By container id. */
export type CpuRates = Map<string, StoredRate>;

const forgottenAfter: Micros = 600_000_000;

/** Stores a reading and returns the rate since the previous one; null: unknown. */
export function updateCpuRate(rates: CpuRates, containerId: string, reading: RuntimeCpuReading, now: Micros): number | null {
  const { timeNanos, usageCoreNanoSeconds, usageNanoCores } = reading;
  if (usageNanoCores !== null) return Number(usageNanoCores);
  if (usageCoreNanoSeconds === null) return null;
  const stored = rates.get(containerId);
  const store = (rate: number | null): number | null => {
    rates.set(containerId, { timeNanos, usageCoreNanoSeconds, usageNanoCores: rate, storedAt: now });
    return rate;
  };
  if (stored === undefined || usageCoreNanoSeconds < stored.usageCoreNanoSeconds) return store(null);
  const elapsed = timeNanos - stored.timeNanos;
  if (elapsed <= 0n) return null;
  return store(Math.trunc((Number(usageCoreNanoSeconds - stored.usageCoreNanoSeconds) / Number(elapsed)) * 1e9));
}

/** The runtime's own rate, else the stored one, for a container that still reports its use. */
export function readCpuRate(rates: CpuRates, containerId: string, reading: RuntimeCpuReading): number | null {
  if (reading.usageNanoCores !== null) return Number(reading.usageNanoCores);
  return reading.usageCoreNanoSeconds === null ? null : (rates.get(containerId)?.usageNanoCores ?? null);
}

/** Forgets containers that are no longer read. */
export function forgetOldCpuRates(rates: CpuRates, now: Micros): void {
  for (const [containerId, { storedAt }] of rates) if (now - storedAt > forgottenAfter) rates.delete(containerId);
}
