// What /proc says of the node and of single processes, for statistics.
// Invariant: a file that is missing or odd gives nothing, never a failure.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
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

/** Interfaces of others' pods and of loopback say nothing of this network namespace's traffic. */
const leftOut = /^(lo|veth|docker|nerdctl)/;

/** The text of /proc/net/dev; see proc(5). */
export function parseNetDev(text: string): readonly InterfaceCounters[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', rest] = line.split(':', 2);
    const fields = (rest ?? '').trim().split(/\s+/).map(Number);
    const trimmed = name.trim();
    if (rest === undefined || fields.length < 16 || fields.some(Number.isNaN) || leftOut.test(trimmed)) return [];
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0, , , , , txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = fields;
    return [{ name: trimmed, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped }];
  });
}

/** Seconds since the epoch when the kernel started, from /proc/stat; null: it doesn't say. */
export function parseBootTime(text: string): number | null {
  const seconds = /^btime (\d+)$/m.exec(text)?.[1];
  return seconds === undefined ? null : Number(seconds);
}

/** How many tasks there are, from /proc/loadavg: the number after `/` in the fourth field. */
export function parseTaskCount(text: string): number | null {
  const count = text.split(' ')[3]?.split('/')[1];
  return count !== undefined && /^\d+$/.test(count) ? Number(count) : null;
}

/** Soft limit on open files from /proc/<pid>/limits; null: unlimited, or not told. */
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

/** Processes of one cgroup that are looked at, and descriptors of each whose kind is looked at. */
export const openFileProcessesMax = 64;
export const openFileDescriptorsMax = 1024;

/** Open files of some processes together, from memory: a few microseconds each. A process that ended meanwhile counts for nothing. */
export function readOpenFiles(pids: readonly number[], root = ''): OpenFiles {
  let descriptors = 0;
  let sockets = 0;
  for (const pid of pids.slice(0, openFileProcessesMax)) {
    const directory = `${root}/proc/${pid}/fd`;
    const names = namesIn(directory);
    descriptors += names.length;
    for (const name of names.slice(0, openFileDescriptorsMax)) if (linkAt(`${directory}/${name}`).startsWith('socket:')) sockets++;
  }
  const first = pids[0];
  return { descriptors, sockets, openFilesMax: first === undefined ? null : parseOpenFilesLimit(textOrEmptyNow(`${root}/proc/${first}/limits`)) };
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** Of a file of /proc, which is in memory. */
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
