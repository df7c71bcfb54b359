// A number between 1 and 250 for each running private containerd: from it come its directory, bridge, network name and address range.
// The directory is taken by mkdir, which is atomic, so runs of other processes never share one; one whose owner died is cleaned and taken.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeEverythingOf } from './leftovers.js';

const numbersMax = 250;
/** A directory without an owner this young belongs to a process between its mkdir and its next line. */
const claimTimeMs = 30_000;

export interface RunDirectory {
  /** Short: a unix socket's path has at most 107 bytes. */
  readonly path: string;
  /** Name of the CNI network and of its bridge (at most 15 bytes). */
  readonly network: string;
  readonly podCidr: string;
  readonly cgroupRoot: string;
}

export function claimRunDirectory(): RunDirectory {
  const base = join(tmpdir(), 'kubelet-ts-containerd');
  mkdirSync(base, { recursive: true, mode: 0o700 });
  for (let number = 1; number <= numbersMax; number++) {
    const run = { path: join(base, String(number)), network: `kts${number}`, podCidr: `10.77.${number}.0/24`, cgroupRoot: `/kubelet-ts-test-${number}` };
    if (isStale(run.path)) removeEverythingOf(run);
    if (claim(run.path)) return run;
  }
  throw new Error(`${base}: all ${numbersMax} directories are in use`);
}

function claim(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  writeFileSync(join(path, 'owner'), `${process.pid} ${startOf(process.pid)}`);
  return true;
}

function isStale(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  try {
    const [pid = '', start = ''] = readFileSync(join(path, 'owner'), 'utf8').split(' ');
    return startOf(Number(pid)) !== start;
  } catch {
    return Date.now() - stat.mtimeMs > claimTimeMs;
  }
}

/** The process's start in clock ticks since boot: with the pid, its identity. Null if absent. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
