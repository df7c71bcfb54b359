// Facts about the machine for the Node object. Reads change nothing; every operation may be requested at any time.
import type { Operation } from '../operation.js';

/** Facts that stay unchanged while the agent runs: neither CPUs nor memory are plugged in later. */
export interface MachineReading {
  /** Logical CPUs online. */
  readonly cpus: number;
  readonly memoryBytes: number;
  /** 0: none. */
  readonly swapBytes: number;
  readonly hugePages: readonly { readonly pageSizeKiB: number; readonly count: number }[];
  /** The file system below the kubelet's root directory; null: not measured. */
  readonly rootFilesystemBytes: number | null;
  /** The smaller of the kernel's limits on process ids and threads. */
  readonly maxPids: number;
  /** '' where the host has none. */
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  /** `uname -r`; null: unknown. */
  readonly kernelVersion: string | null;
  /** The text of os-release(5); null: no such file can be read. */
  readonly osRelease: string | null;
  /** A device manager checkpoint exists: the extended resources in the Node object don't stem from an earlier machine. */
  readonly hasDeviceCheckpoint: boolean;
}

/** A physical core. */
export interface CoreReading {
  readonly numaNode: number;
  readonly socket: number;
  /** The last-level cache; null: unknown. */
  readonly uncoreCache: number | null;
  /** CPUs online, ascending; never empty. */
  readonly threads: readonly number[];
}

/** A NUMA node that has CPUs or memory. */
export interface NumaNodeReading {
  readonly id: number;
  readonly memoryBytes: number;
  /** One for each size that the machine has. */
  readonly hugePages: readonly { readonly pageSizeKiB: number; readonly numPages: number }[];
  /** The distance to the i-th node of the list; null if unknown. */
  readonly distances: readonly number[] | null;
}

/** Which CPUs and memory are close to each other. */
export interface MachineTopology {
  /** By their lowest CPU, ascending. */
  readonly cores: readonly CoreReading[];
  /** By id, ascending; one node with everything if the machine has none. */
  readonly numaNodes: readonly NumaNodeReading[];
}

export interface AddressReading {
  /** Of all interfaces that are up, loopback included. */
  readonly interfaceIps: readonly string[];
  /** The addresses that the name resolves to; empty without a name, or after a failure. */
  readonly dnsAddresses: readonly string[];
  /** Addresses of the interfaces behind the default routes; null if no such route exists. */
  readonly defaultRoute: { readonly ipv4: string | null; readonly ipv6: string | null };
}

export interface MachineOperations {
  /** Errors: internal (the host doesn't report its memory). */
  readonly read: Operation<null, MachineReading>;
  /** Errors: internal (the host doesn't report its memory). */
  readonly topology: Operation<null, MachineTopology>;
  /** @property resolve a name to look up; null: none. A failed look-up gives no addresses, never an error. */
  readonly addresses: Operation<{ readonly resolve: string | null }, AddressReading>;
}
