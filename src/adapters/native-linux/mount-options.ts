// mount(8)'s option words as mount(2)'s flags and data, and statfs(2)'s flags as words.

import type { MountOptions, MountPropagation } from '../../ports/outbound/mounts.js';
import { PortError } from '../../ports/port-error.js';

export const mountFlag = { remount: 0x20, bind: 0x1000, recursive: 0x4000 } as const;

/** word -> [flags set, flags cleared]. */
const optionFlags: ReadonlyMap<string, readonly [set: number, clear: number]> = new Map<string, readonly [number, number]>([
  ['defaults', [0, 0]],
  ['ro', [0x1, 0]],
  ['rw', [0, 0x1]],
  ['nosuid', [0x2, 0]],
  ['suid', [0, 0x2]],
  ['nodev', [0x4, 0]],
  ['dev', [0, 0x4]],
  ['noexec', [0x8, 0]],
  ['exec', [0, 0x8]],
  ['sync', [0x10, 0]],
  ['async', [0, 0x10]],
  ['dirsync', [0x80, 0]],
  ['noatime', [0x400, 0]],
  ['atime', [0, 0x400]],
  ['nodiratime', [0x800, 0]],
  ['diratime', [0, 0x800]],
  ['relatime', [0x200000, 0]],
  ['strictatime', [0x1000000, 0]],
]);

const propagationFlags: Readonly<Record<MountPropagation, number>> = {
  unbindable: 0x20000,
  runbindable: 0x20000 | mountFlag.recursive,
  private: 0x40000,
  rprivate: 0x40000 | mountFlag.recursive,
  slave: 0x80000,
  rslave: 0x80000 | mountFlag.recursive,
  shared: 0x100000,
  rshared: 0x100000 | mountFlag.recursive,
};

/** ST_* of statfs(2) to the word and to the MS_* bit; most, not all, are the same number. */
const statfsFlags: readonly (readonly [st: bigint, word: string])[] = [
  [1n, 'ro'],
  [2n, 'nosuid'],
  [4n, 'nodev'],
  [8n, 'noexec'],
  [1024n, 'noatime'],
  [2048n, 'nodiratime'],
  [4096n, 'relatime'],
];

export function mountFlagsOf(options: MountOptions): { flags: number; data: string } {
  let flags = 0;
  const data: string[] = [];
  for (const option of options) {
    const known = optionFlags.get(option);
    if (known === undefined) data.push(option);
    else flags = (flags | known[0]) & ~known[1];
  }
  return { flags: flags >>> 0, data: data.join(',') };
}

export function propagationFlagsOf(propagation: MountPropagation): number {
  return propagationFlags[propagation];
}

/** A bind mount of its own has only these per-mount options; a word for the file system would be dropped by the kernel unseen. */
export function bindFlagsOf(options: MountOptions, operation: string, target: string): number {
  const { flags, data } = mountFlagsOf(options);
  if (data !== '') throw new PortError({ kind: 'invalid-argument', message: `${operation} ${target}: not an option of a bind mount: ${data}`, operation, subject: target });
  return flags;
}

export function mountOptionsOfStatfs(flags: bigint): string[] {
  return statfsFlags.filter(([st]) => (flags & st) !== 0n).map(([, word]) => word);
}

/** The kept words of a mount's own option list, in the order of `mountOptionsOfStatfs`. */
export function keptMountOptions(words: readonly string[]): string[] {
  return statfsFlags.filter(([, word]) => words.includes(word)).map(([, word]) => word);
}
