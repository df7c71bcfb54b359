// Statistics of the node and of single processes from /proc.
// Invariant: a missing or malformed file gives no value, never a failure.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

export interface InterfaceCounters {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** Interfaces of other pods and of loopback don't belong to this network namespace's traffic. */
const leftOut = /^(lo|veth|docker|nerdctl)/;

/** The text of /proc/net/dev; see proc(5). Hundreds of lines on a node with many pods, of which nearly all are skipped. */
export function parseNetDev(text: string): readonly InterfaceCounters[] {
  const found: InterfaceCounters[] = [];
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).trim();
    if (colon < 0 || leftOut.test(name)) continue;
    const fields = line
      .slice(colon + 1)
      .trim()
      .split(/ +/)
      .map(Number);
    if (fields.length < 16 || fields.some(Number.isNaN)) continue;
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0, , , , , txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = fields;
    found.push({ name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped });
  }
  return found;
}

export interface DiskCounters {
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMillis: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMillis: number;
  readonly inProgress: number;
  readonly busyMillis: number;
  readonly weightedMillis: number;
}

/** The text of /proc/diskstats by `major:minor`; see the kernel's Documentation/admin-guide/iostats.rst. */
export function parseDiskstats(text: string): ReadonlyMap<string, DiskCounters> {
  const found = new Map<string, DiskCounters>();
  for (const line of text.split('\n')) {
    const [major, minor, , ...rest] = line.trim().split(/ +/);
    const counters = rest.map(Number);
    if (major === undefined || minor === undefined || counters.length < 11 || counters.some(Number.isNaN)) continue;
    const [reads = 0, readsMerged = 0, sectorsRead = 0, readMillis = 0, writes = 0, writesMerged = 0, sectorsWritten = 0, writeMillis = 0] = counters;
    const [inProgress = 0, busyMillis = 0, weightedMillis = 0] = counters.slice(8);
    const [read, written] = [
      { reads, readsMerged, sectorsRead, readMillis },
      { writes, writesMerged, sectorsWritten, writeMillis },
    ];
    found.set(`${major}:${minor}`, { ...read, ...written, inProgress, busyMillis, weightedMillis });
  }
  return found;
}

/** The kernel's start in seconds since the epoch, from /proc/stat; null if missing. */
export function parseBootTime(text: string): number | null {
  const seconds = /^btime (\d+)$/m.exec(text)?.[1];
  return seconds === undefined ? null : Number(seconds);
}

/** The number of tasks, from /proc/loadavg: the number after `/` in the fourth field. */
export function parseTaskCount(text: string): number | null {
  const count = text.split(' ')[3]?.split('/')[1];
  return count !== undefined && /^\d+$/.test(count) ? Number(count) : null;
}

/** Soft limit on open files from /proc/<pid>/limits; null: unlimited or unknown. */
export function parseOpenFilesLimit(text: string): number | null {
  const soft = /^Max open files\s+(\S+)/m.exec(text)?.[1];
  return soft !== undefined && /^\d+$/.test(soft) ? Number(soft) : null;
}

export interface OpenFiles {
  readonly descriptors: number;
  readonly sockets: number;
  /** Soft limit on open files of the first of the processes; null: not known. */
  readonly openFilesMax: number | null;
}

/** How many processes of one cgroup are inspected. */
export const openFileProcessesMax = 64;

/** For a file of /proc, which is in memory. */
export function textOrEmptyNow(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

export async function textOrEmpty(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
