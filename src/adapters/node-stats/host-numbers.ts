// Numbers of the host that are read when they are needed: its processes, what this process may open, usage by quota.

import type { ProcessCounts, Used } from '../../ports/model/node-measurements.js';
import type { PortOf } from '../../ports/operation.js';
import type { ProjectQuotaOperations, QuotaPlace } from '../../ports/outbound/project-quotas.js';
import { parseOpenFilesLimit, parseTaskCount, statsDescriptorsMax, textOrEmpty, textOrEmptyNow } from '../linux/index.js';

/** A quarter of what this process may open. */
export function spareDescriptors(): number {
  const limit = parseOpenFilesLimit(textOrEmptyNow('/proc/self/limits')) ?? statsDescriptorsMax * 4;
  return Math.min(statsDescriptorsMax, Math.floor(limit / 4));
}

/** A volume's usage by its project quota. Also null if the kernel doesn't report it: the caller falls back to the walk. */
export async function quotaUsage(port: PortOf<ProjectQuotaOperations>, place: QuotaPlace): Promise<Required<Used> | null> {
  return port.usage(place, { signal: new AbortController().signal, timeoutMicros: null }).catch(() => null);
}

/** null: unknown. */
export async function processCounts(maxPid: number): Promise<ProcessCounts | null> {
  const processes = parseTaskCount(await textOrEmpty('/proc/loadavg'));
  return processes === null ? null : { maxPid, processes };
}
