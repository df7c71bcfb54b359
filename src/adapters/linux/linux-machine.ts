// Reads the machine from /proc, /sys, /etc and the resolver.
// Invariant: a missing file has a plain meaning (no huge pages, no id); only a host without memory information is
// refused. Read-only.
import { lookup } from 'node:dns/promises';
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parseCpuSet } from '../../domain/values/cpu-set.js';
import type { PortOf } from '../../ports/operation.js';
import type { AddressReading, MachineOperations, MachineReading, MachineTopology } from '../../ports/outbound/machine.js';
import { PortError } from '../../ports/port-error.js';
import { type HostReading, readHost } from './host-reading.js';
import { readTopology } from './machine-topology.js';

export interface LinuxMachineOptions {
  /** The kubelet's. */
  readonly rootDirectory: string;
  /** Prefix of /proc, /sys and /etc: '' on a host, a recorded tree in tests. */
  readonly hostRoot?: string;
  /** Of the host by default. */
  readonly interfaces?: () => NodeJS.Dict<NetworkInterfaceInfo[]>;
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

const devicePluginCheckpoint = 'device-plugins/kubelet_internal_checkpoint';
/** A resolver that does not answer must not hold the node's status. */
const resolveTimeoutMs = 5_000;
const anyIpv6 = '0'.repeat(32);

export class LinuxMachine implements PortOf<MachineOperations> {
  constructor(private readonly options: LinuxMachineOptions) {}

  async read(): Promise<MachineReading> {
    const root = this.options.hostRoot ?? '';
    const text = (...paths: readonly string[]): string | null => firstText(paths.map((path) => join(root, path)));
    const { memoryBytes, swapBytes, hugePageBytes, onlineCpus } = hostOr('machine.read', root);
    const limits = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'].map((path) => Number(text(path) ?? Number.NaN)).filter((limit) => limit > 0);
    return {
      cpus: cpuCount(onlineCpus),
      memoryBytes,
      swapBytes,
      hugePages: hugePages(root, hugePageBytes),
      rootFilesystemBytes: fileSystemBytes(this.options.rootDirectory),
      maxPids: limits.length === 0 ? 0 : Math.min(...limits),
      machineId: (text('/etc/machine-id', '/var/lib/dbus/machine-id') ?? '').trim(),
      systemUuid: (text('/sys/class/dmi/id/product_uuid', '/proc/device-tree/system-id', '/proc/device-tree/vm,uuid', '/etc/machine-id') ?? '').replaceAll('\0', '').trim(),
      bootId: (text('/proc/sys/kernel/random/boot_id') ?? '').trim(),
      kernelVersion: text('/proc/sys/kernel/osrelease')?.trim() ?? null,
      osRelease: text('/etc/os-release', '/usr/lib/os-release'),
      hasDeviceCheckpoint: existsSync(join(this.options.rootDirectory, devicePluginCheckpoint)),
    };
  }

  async topology(): Promise<MachineTopology> {
    const root = this.options.hostRoot ?? '';
    const { memoryBytes, hugePageBytes, onlineCpus } = hostOr('machine.topology', root);
    return readTopology(root, onlineCpus, { memoryBytes, hugePages: hugePages(root, hugePageBytes) });
  }

  async addresses({ resolve }: { readonly resolve: string | null }): Promise<AddressReading> {
    const root = this.options.hostRoot ?? '';
    const interfaces = (this.options.interfaces ?? networkInterfaces)();
    const ips = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
    const ipv4Interface = defaultInterface4(firstText([join(root, '/proc/net/route')]) ?? '');
    const ipv6Interface = defaultInterface6(firstText([join(root, '/proc/net/ipv6_route')]) ?? '');
    return {
      interfaceIps: ips.map(({ address }) => address),
      dnsAddresses: resolve === null ? [] : await resolved(resolve, this.options.resolve ?? systemResolve),
      defaultRoute: { ipv4: globalAddress(interfaces, ipv4Interface, 'IPv4'), ipv6: globalAddress(interfaces, ipv6Interface, 'IPv6') },
    };
  }
}

function hostOr(operation: string, root: string): HostReading {
  try {
    return readHost(root);
  } catch (cause) {
    throw new PortError({ kind: 'internal', operation, subject: '', message: (cause as Error).message, cause });
  }
}

function hugePages(root: string, sizes: readonly number[]): MachineReading['hugePages'] {
  return sizes.map((bytes) => {
    const pageSizeKiB = bytes / 1024;
    return { pageSizeKiB, count: Number(firstText([join(root, `/sys/kernel/mm/hugepages/hugepages-${pageSizeKiB}kB/nr_hugepages`)]) ?? 0) || 0 };
  });
}

function cpuCount(list: string): number {
  const parsed = parseCpuSet(list);
  return parsed.ok ? Math.max(1, parsed.value.length) : 1;
}

/** Trouble with names shows in the node's addresses, not as a failure of the whole look. */
async function resolved(name: string, resolve: (name: string) => Promise<readonly string[]>): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((done) => {
    timer = setTimeout(() => done([]), resolveTimeoutMs);
  });
  try {
    return await Promise.race([resolve(name), late]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

async function systemResolve(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

function fileSystemBytes(path: string): number | null {
  try {
    const { blocks, bsize } = statfsSync(path);
    return blocks * bsize;
  } catch {
    return null;
  }
}

function firstText(paths: readonly string[]): string | null {
  for (const path of paths) {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      // The next one.
    }
  }
  return null;
}

/** Columns of /proc/net/route: interface, destination, ...; see proc(5). */
function defaultInterface4(routes: string): string | null {
  for (const line of routes.split('\n').slice(1)) {
    const [name, destination] = line.split('\t');
    if (destination === '00000000' && name !== undefined) return name;
  }
  return null;
}

/** Columns of /proc/net/ipv6_route: destination, its length, ..., interface last. The unreachable default on `lo` is none. */
function defaultInterface6(routes: string): string | null {
  for (const line of routes.split('\n')) {
    const fields = line.trim().split(/\s+/);
    const name = fields.at(-1);
    if (fields[0] === anyIpv6 && fields[1] === '00' && name !== undefined && name !== 'lo') return name;
  }
  return null;
}

function globalAddress(interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>, name: string | null, family: 'IPv4' | 'IPv6'): string | null {
  const addresses = name === null ? [] : (interfaces[name] ?? []);
  return addresses.find((one) => one.family === family && !one.internal && !/^(169\.254\.|fe[89ab])/i.test(one.address))?.address ?? null;
}
