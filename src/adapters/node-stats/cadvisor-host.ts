// What /metrics/cadvisor reports of the host besides its cgroups: the machine, the root file system, the names of block devices.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { parseCpuSet } from '../../domain/values/cpu-set.js';
import type { PortOf } from '../../ports/operation.js';
import type { FilesystemUsageOperations } from '../../ports/outbound/filesystem-usage.js';
import type { MachineReading } from '../../ports/outbound/machine.js';
import { parseDiskstats } from '../linux/index.js';
import type { CadvisorFilesystem, CadvisorMachine } from '../metrics/index.js';
import { parseMountinfo } from '../native-linux/index.js';
import { filesystemNumbers } from './node-stats.js';

export function cadvisorMachine(machine: MachineReading): CadvisorMachine {
  const cores = new Set<string>();
  const sockets = new Set<string>();
  const online = parseCpuSet(readOr('/sys/devices/system/cpu/online').trim());
  for (const cpu of online.ok ? online.value : []) {
    const topology = `/sys/devices/system/cpu/cpu${cpu}/topology`;
    const socket = readOr(`${topology}/physical_package_id`).trim();
    sockets.add(socket);
    cores.add(`${socket}/${readOr(`${topology}/core_id`).trim()}`);
  }
  const name = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(machine.osRelease ?? '')?.[1] ?? 'Linux';
  const { machineId, systemUuid, bootId, cpus, memoryBytes, swapBytes } = machine;
  return {
    ...{ machineId, bootId, cpus, memoryBytes, swapBytes, osVersion: name },
    systemUuid: systemUuid === '' ? machineId : systemUuid,
    physicalCores: Math.max(1, cores.size),
    sockets: Math.max(1, sockets.size),
    kernelVersion: machine.kernelVersion ?? '',
  };
}

/** The file system below the root directory, under the device that it is on. */
export async function rootFilesystems(port: PortOf<FilesystemUsageOperations>, rootDirectory: string): Promise<readonly CadvisorFilesystem[]> {
  const numbers = await filesystemNumbers(port, rootDirectory);
  if (numbers === null) return [];
  const within = (mountPoint: string): boolean => mountPoint === '/' || rootDirectory === mountPoint || rootDirectory.startsWith(`${mountPoint}/`);
  const mounts = parseMountinfo(readOr('/proc/self/mountinfo')).filter(({ mountPoint }) => within(mountPoint));
  const mount = mounts.reduce((best, one) => (one.mountPoint.length >= (best?.mountPoint.length ?? 0) ? one : best), mounts[0]);
  const { capacityBytes = 0, usedBytes = 0, inodes = 0, inodesFree = 0 } = numbers;
  // A file system without a disk of its own (overlay, network) has a number that no disk has.
  const disk = parseDiskstats(readOr('/proc/diskstats')).get(mount?.majorMinor ?? '') ?? null;
  return [{ device: mount?.source ?? '', capacityBytes, usedBytes, inodes, inodesFree, disk }];
}

let devices: ReadonlyMap<string, string> | null = null;

/** Block devices by `major:minor`, as /sys names them; read once, as devices with containers' data don't come and go. */
export function deviceNames(): ReadonlyMap<string, string> {
  if (devices === null) {
    const directory = '/sys/dev/block';
    const numbers = existsSync(directory) ? readdirSync(directory) : [];
    devices = new Map(
      numbers.flatMap((number) => {
        const name = /^DEVNAME=(.*)$/m.exec(readOr(`${directory}/${number}/uevent`))?.[1];
        return name === undefined ? [] : [[number, `/dev/${name}`] as const];
      }),
    );
  }
  return devices;
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
