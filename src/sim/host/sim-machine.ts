// The machine under a simulated node: plain facts that a scenario may change, such as a reboot or a new address.
import type { AddressReading, MachineOperations, MachineReading, MachineTopology } from '../../ports/outbound/machine.js';

export interface SimMachineState {
  reading: MachineReading;
  /** null: one socket and node, and a core for each CPU of the reading. */
  topology: MachineTopology | null;
  addresses: AddressReading;
}

const gibibyte = 1024 ** 3;

/** A small machine: four CPUs, 16 GiB of memory, 100 GiB of disk, one address. */
export function newSimMachine(given: Partial<MachineReading> = {}, address = '10.1.0.10'): SimMachineState {
  return {
    reading: {
      cpus: 4,
      memoryBytes: 16 * gibibyte,
      swapBytes: 0,
      hugePages: [{ pageSizeKiB: 2048, count: 0 }],
      rootFilesystemBytes: 100 * gibibyte,
      maxPids: 32_768,
      machineId: '0'.repeat(32),
      systemUuid: '00000000-0000-0000-0000-000000000001',
      bootId: '00000000-0000-4000-8000-000000000001',
      kernelVersion: '6.12.0',
      osRelease: 'PRETTY_NAME="Simulated Linux"\n',
      hasDeviceCheckpoint: false,
      ...given,
    },
    topology: null,
    addresses: { interfaceIps: ['127.0.0.1', address], dnsAddresses: [], defaultRoute: { ipv4: address, ipv6: null } },
  };
}

/** How a simulated machine is built; every node alike. */
export interface SimMachineShape {
  readonly sockets?: number;
  /** In each socket. */
  readonly numaNodes?: number;
  /** In each NUMA node. */
  readonly cores?: number;
  /** In each core; siblings are numbered as Linux does it, all first threads before the second ones. */
  readonly threads?: number;
  /** Of each NUMA node. */
  readonly memoryBytes?: number;
  readonly hugePages?: readonly { readonly pageSizeKiB: number; readonly numPages: number }[];
}

export function simTopology(shape: SimMachineShape): MachineTopology {
  const { sockets = 1, numaNodes = 1, cores = 4, threads = 1, memoryBytes = 16 * gibibyte, hugePages = [] } = shape;
  const nodes = Array.from({ length: sockets * numaNodes }, (_, id) => id);
  const all = nodes.length * cores;
  const coreAt = (index: number) => {
    const numaNode = Math.floor(index / cores);
    return { numaNode, socket: Math.floor(numaNode / numaNodes), uncoreCache: numaNode, threads: Array.from({ length: threads }, (_, thread) => index + thread * all) };
  };
  return {
    cores: Array.from({ length: all }, (_, index) => coreAt(index)),
    numaNodes: nodes.map((id) => ({
      id,
      memoryBytes,
      hugePages,
      distances: nodes.map((other) => (other === id ? 10 : Math.floor(other / numaNodes) === Math.floor(id / numaNodes) ? 12 : 21)),
    })),
  };
}

export function topologyOf({ reading, topology }: SimMachineState): MachineTopology {
  if (topology !== null) return topology;
  const hugePages = reading.hugePages.map(({ pageSizeKiB, count }) => ({ pageSizeKiB, numPages: count }));
  return simTopology({ cores: reading.cpus, memoryBytes: reading.memoryBytes, hugePages });
}

export class SimMachine {
  constructor(private readonly state: { readonly machine: SimMachineState }) {}

  read(): MachineReading {
    return this.state.machine.reading;
  }

  topology(): MachineTopology {
    return topologyOf(this.state.machine);
  }

  /** Resolved addresses are only in answers to requests with a name. */
  addresses({ resolve }: MachineOperations['addresses']['request']): AddressReading {
    const { addresses } = this.state.machine;
    return resolve === null ? { ...addresses, dnsAddresses: [] } : addresses;
  }
}
