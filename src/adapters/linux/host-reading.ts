// Facts about the host, read from /proc and /sys once at the start: machines don't grow while an agent runs.
// Invariant: a missing or unreadable file has a plain meaning (no swap, no huge pages), never a failure;
// only a host without memory information is refused, since every share of it would be wrong.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { cgroupLayout } from './cgroups/cgroup-layout.js';

export interface HostReading {
  readonly memoryBytes: number;
  readonly swapBytes: number;
  /** Some swap is in use. */
  readonly swapOn: boolean;
  readonly cgroupVersion: 1 | 2;
  /** The kernel accounts swap for each cgroup. */
  readonly swapControllerAvailable: boolean;
  /** Sizes in bytes, ascending. */
  readonly hugePageBytes: readonly number[];
  /** The kernel's list of CPUs online: `0-3,8`. */
  readonly onlineCpus: string;
  /** `/sys/devices/system/cpu/cpu<N>/thermal_throttle` of each CPU that has it. */
  readonly thermalThrottlePaths: readonly string[];
  readonly selinuxEnabled: boolean;
  /** The SELinux label of containers' files; '': unknown. */
  readonly seLinuxFileLabel: string;
  readonly apparmorEnabled: boolean;
}

/** `root` is the prefix of /proc and /sys: '' on a host, a directory with a recorded tree in tests. */
export function readHost(root = ''): HostReading {
  const meminfo = textOf(join(root, '/proc/meminfo')) ?? '';
  const memoryBytes = meminfoBytes(meminfo, 'MemTotal');
  if (memoryBytes === null) throw new Error('/proc/meminfo names no MemTotal');
  const selinuxEnabled = existsSync(join(root, '/sys/fs/selinux/enforce'));
  const { version } = cgroupLayout(textOf(join(root, '/proc/self/mountinfo')) ?? '');
  return {
    memoryBytes,
    swapBytes: meminfoBytes(meminfo, 'SwapTotal') ?? 0,
    swapOn: (textOf(join(root, '/proc/swaps')) ?? '').trimEnd().split('\n').length > 1,
    cgroupVersion: version,
    swapControllerAvailable: existsSync(swapLimitFile(root, version)),
    hugePageBytes: hugePageSizes(join(root, '/sys/kernel/mm/hugepages')),
    onlineCpus: (textOf(join(root, '/sys/devices/system/cpu/online')) ?? '0').trim(),
    thermalThrottlePaths: thermalThrottlePaths(root),
    selinuxEnabled,
    seLinuxFileLabel: selinuxEnabled ? containerFileLabel(root) : '',
    apparmorEnabled: apparmorEnabled(root),
  };
}

/** Values of kernel tunables below /proc/sys; null for a tunable that the kernel lacks. */
export function readTunables(names: readonly string[], root = ''): Record<string, number | null> {
  return Object.fromEntries(
    names.map((name) => {
      const text = textOf(join(root, '/proc/sys', name))?.trim() ?? '';
      return [name, /^-?\d+$/.test(text) ? Number(text) : null];
    }),
  );
}

/** Addresses by which others reach this host, the one behind the default route first. Without loopback and link-local ones. */
export function hostAddresses(interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces(), routes: string | null = textOf('/proc/net/route')): string[] {
  const byDefault = defaultInterface(routes ?? '');
  const names = Object.keys(interfaces).sort((a, b) => Number(b === byDefault) - Number(a === byDefault) || (a < b ? -1 : 1));
  const usable = names.flatMap((name) => interfaces[name] ?? []).filter(({ internal, address }) => !internal && !/^(169\.254\.|fe[89ab])/i.test(address));
  return [...new Set(usable.map(({ address }) => address))];
}

/** The interface whose route has destination 0; see proc(5). */
function defaultInterface(routes: string): string | null {
  for (const line of routes.split('\n').slice(1)) {
    const [name, destination] = line.split('\t');
    if (destination === '00000000' && name !== undefined) return name;
  }
  return null;
}

function meminfoBytes(meminfo: string, name: string): number | null {
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(meminfo)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

function swapLimitFile(root: string, version: 1 | 2): string {
  if (version === 1) return join(root, '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  const own = /^0::(\/.*)$/m.exec(textOf(join(root, '/proc/self/cgroup')) ?? '')?.[1] ?? '/';
  return join(root, '/sys/fs/cgroup', own, 'memory.swap.max');
}

function hugePageSizes(directory: string): number[] {
  return namesOf(directory)
    .flatMap((name) => /^hugepages-(\d+)kB$/.exec(name)?.[1] ?? [])
    .map((kilobytes) => Number(kilobytes) * 1024)
    .sort((a, b) => a - b);
}

function thermalThrottlePaths(root: string): string[] {
  const directory = '/sys/devices/system/cpu';
  const cpus = namesOf(join(root, directory)).flatMap((name) => /^cpu(\d+)$/.exec(name)?.[1] ?? []);
  return cpus
    .map(Number)
    .sort((a, b) => a - b)
    .map((cpu) => `${directory}/cpu${cpu}/thermal_throttle`)
    .filter((path) => existsSync(join(root, path)));
}

/** From the containers' own policy, or the host's, as the runtimes read it: lines `file = "system_u:object_r:container_file_t:s0"`. */
function containerFileLabel(root: string): string {
  const policy = /^SELINUXTYPE=(.*)$/m.exec(textOf(join(root, '/etc/selinux/config')) ?? '')?.[1]?.trim() ?? '';
  const paths = ['/usr/share/containers/selinux/contexts', `/etc/selinux/${policy}/contexts/lxc_contexts`];
  const text = paths.map((path) => textOf(join(root, path))).find((found) => found !== null) ?? '';
  return /^file\s*=\s*"?([^"\n]*)"?\s*$/m.exec(text)?.[1] ?? '';
}

/** The module is loaded, and was not switched off at boot. */
function apparmorEnabled(root: string): boolean {
  return existsSync(join(root, '/sys/kernel/security/apparmor')) && (textOf(join(root, '/sys/module/apparmor/parameters/enabled')) ?? '').startsWith('Y');
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function namesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
