// The machine under a simulated node: plain facts that a scenario may change, as a reboot or a new address does.
import type { AddressReading, MachineOperations, MachineReading } from '../../ports/outbound/machine.js';

export interface SimMachineState {
  reading: MachineReading;
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
    addresses: { interfaceIps: ['127.0.0.1', address], dnsAddresses: [], defaultRoute: { ipv4: address, ipv6: null } },
  };
}

export class SimMachine {
  constructor(private readonly state: { readonly machine: SimMachineState }) {}

  read(): MachineReading {
    return this.state.machine.reading;
  }

  /** What a name resolves to is only told to those who ask. */
  addresses({ resolve }: MachineOperations['addresses']['request']): AddressReading {
    const { addresses } = this.state.machine;
    return resolve === null ? { ...addresses, dnsAddresses: [] } : addresses;
  }
}
