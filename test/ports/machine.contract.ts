// The contract of machine facts: runs on the simulated machine, and on the Linux adapter with the host and with a
// recorded tree.
import { isIP } from 'node:net';
import t from 'tap';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { MachineOperations } from '../../src/ports/outbound/machine.js';

const call: Call = { signal: { aborted: false, reason: undefined, addEventListener: () => {}, removeEventListener: () => {} }, timeoutMicros: null };

export function machineContract(name: string, machine: PortOf<MachineOperations>): void {
  t.test(`machine: ${name}`, async (t) => {
    const reading = await machine.read(null, call);
    t.ok(Number.isInteger(reading.cpus) && reading.cpus > 0, 'there is a CPU');
    t.ok(Number.isInteger(reading.memoryBytes) && reading.memoryBytes > 0, 'there is memory');
    t.ok(reading.rootFilesystemBytes === null || Number.isInteger(reading.rootFilesystemBytes), 'sizes are whole bytes');
    t.ok(reading.hugePages.every(({ pageSizeKiB, count }) => Number.isInteger(pageSizeKiB) && Number.isInteger(count)));
    t.strictSame(await machine.read(null, call), reading, 'it stays as it is');
    const { cores, numaNodes } = await machine.topology(null, call);
    const cpus = cores.flatMap(({ threads }) => threads);
    t.equal(new Set(cpus).size, cpus.length, 'a CPU is in one core');
    t.equal(cpus.length, reading.cpus, 'and every one is in one');
    const ids = numaNodes.map(({ id }) => id);
    t.ok(
      cores.every(({ numaNode, threads }) => ids.includes(numaNode) && threads.length > 0),
      'every core is in a NUMA node',
    );
    t.strictSame(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    t.ok(
      numaNodes.every(({ distances, memoryBytes }) => Number.isInteger(memoryBytes) && (distances === null || distances.length === ids.length)),
      'a distance to each node',
    );
    const addresses = await machine.addresses({ resolve: null }, call);
    t.strictSame(addresses.dnsAddresses, [], 'nothing is looked up unasked');
    const all = [...addresses.interfaceIps, addresses.defaultRoute.ipv4, addresses.defaultRoute.ipv6].filter((ip) => ip !== null);
    t.ok(
      all.every((ip) => isIP(ip.replace(/%.*/, '')) !== 0),
      'addresses are addresses',
    );
    const { dnsAddresses } = await machine.addresses({ resolve: 'no-such-name.invalid' }, call);
    t.ok(Array.isArray(dnsAddresses), 'a name that resolves to nothing is no failure');
  });
}
