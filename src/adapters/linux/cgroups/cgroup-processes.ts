// The processes in a cgroup and below it, and ending them.
// Invariant: this process, the init process and processes without a number in this pid namespace (0) are never signalled.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { errnoName } from '../../storage/index.js';

/** Cgroups of a pod, its sandbox, its containers and what those make. */
export const cgroupLevelsMax = 64;

/** Ends everything in a v2 cgroup at once. False: this kernel (before 5.14) can't. */
export function killUnified(path: string): boolean {
  try {
    writeFileSync(`${path}/cgroup.kill`, '1', { flag: 'r+' });
    return true;
  } catch (error) {
    if (errnoName(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Sends SIGKILL to everything in the cgroups. Processes that appear meanwhile need another call. */
export function killProcesses(paths: readonly string[]): void {
  const pids = new Set<number>();
  for (const path of paths) collectProcesses(path, pids, cgroupLevelsMax);
  for (const pid of pids) {
    if (pid <= 1 || pid === process.pid) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (errnoName(error) !== 'ESRCH') throw error;
    }
  }
}

/** Frozen processes on v1 don't even die; thaws the cgroups and those below, if they have a freezer. */
export function thaw(path: string, levels = cgroupLevelsMax): void {
  try {
    writeFileSync(`${path}/freezer.state`, 'THAWED', { flag: 'r+' });
  } catch (error) {
    if (errnoName(error) !== 'ENOENT' && errnoName(error) !== 'ENODEV') throw error;
    return;
  }
  if (levels > 0) for (const name of childCgroups(path)) thaw(`${path}/${name}`, levels - 1);
}

/** The number of processes, for an error message. */
export function countProcesses(paths: readonly string[]): number {
  const pids = new Set<number>();
  for (const path of paths) collectProcesses(path, pids, cgroupLevelsMax);
  return pids.size;
}

function collectProcesses(path: string, pids: Set<number>, levels: number): void {
  for (const line of readOrEmpty(`${path}/cgroup.procs`).split('\n')) if (line !== '') pids.add(Number(line));
  if (levels > 0) for (const name of childCgroups(path)) collectProcesses(`${path}/${name}`, pids, levels - 1);
}

/** Names of the direct child cgroups; empty if it is gone. */
function childCgroups(path: string): string[] {
  return absentIsEmpty(() => readdirSync(path, { withFileTypes: true })).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}

function absentIsEmpty<T>(read: () => T[]): T[] {
  try {
    return read();
  } catch (error) {
    if (errnoName(error) === 'ENOENT') return [];
    throw error;
  }
}

/** ENODEV: the cgroup was removed after the file was opened. EOPNOTSUPP: threads only, the processes are listed above. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (['ENOENT', 'ENODEV', 'EOPNOTSUPP', 'ENOTSUP'].includes(errnoName(error))) return '';
    throw error;
  }
}
