// What a process has cost so far, as the kernel counts it.
import { readdirSync, readFileSync } from 'node:fs';

/** Processor milliseconds of the threads that it has, to the nanosecond; what threads used that have ended is left out. */
export function cpuMsOf(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // It ended meanwhile.
    }
  }
  return nanoseconds / 1e6;
}

/** Mebibytes of a field of /proc/PID/status. */
export function memoryMiB(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) / 1024;
}

export function round(value: number): number {
  return Number(value.toPrecision(3));
}

export function share(values: readonly number[], part: number): number {
  return [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
}
