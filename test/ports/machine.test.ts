// The contract of machine facts, and the Linux adapter's reading of a recorded tree.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { NetworkInterfaceInfo } from 'node:os';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { LinuxMachine } from '../../src/adapters/linux/index.js';
import { newSimMachine, SimMachine } from '../../src/sim/host/sim-machine.js';
import { machineContract } from './machine.contract.js';

function tree(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const none = '0'.repeat(32);
const ipv6Route = (middle: string, name: string): string => `${none} 00 ${none} 00 ${'f'.repeat(32)} ${middle} ${name}\n`;

const recorded = {
  '/proc/meminfo': 'MemTotal:       16384000 kB\nSwapTotal:       2048 kB\n',
  '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
  '/proc/sys/kernel/pid_max': '32768\n',
  '/proc/sys/kernel/threads-max': '20000\n',
  '/proc/sys/kernel/osrelease': '6.1.0-test\n',
  '/proc/sys/kernel/random/boot_id': 'b-1\n',
  '/proc/net/route': 'Iface\tDestination\tGateway\neth0\t0000A8C0\t00000000\neth1\t00000000\t0100A8C0\n',
  '/proc/net/ipv6_route': `${ipv6Route('00000001 00000000 00200200', 'lo')}${ipv6Route('00000400 1 0 3', 'eth1')}`,
  '/sys/devices/system/cpu/online': '0-2,10\n',
  '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '7\n',
  '/sys/class/dmi/id/product_uuid': 'UUID-1\n',
  '/etc/machine-id': 'm-1\n',
  '/usr/lib/os-release': 'PRETTY_NAME="Test OS 1"\n',
};

const address = (ip: string, family: 'IPv4' | 'IPv6' = 'IPv4', internal = false) => ({ address: ip, family, internal }) as unknown as NetworkInterfaceInfo;
const interfaces = () => ({
  lo: [address('127.0.0.1', 'IPv4', true)],
  eth0: [address('192.168.0.2')],
  eth1: [address('fe80::1', 'IPv6'), address('fd00::5', 'IPv6'), address('169.254.1.1'), address('10.0.0.5')],
});

const root = tree(recorded);
const kubelet = tree({ '/device-plugins/kubelet_internal_checkpoint': '{}' });
const fixture = new LinuxMachine({
  rootDirectory: kubelet,
  hostRoot: root,
  interfaces,
  resolve: async (name) => (name === 'node-1' ? ['10.0.0.5'] : Promise.reject(new Error('ENOTFOUND'))),
});

const sim = new SimMachine({ machine: newSimMachine() });
machineContract('simulated', { read: async () => sim.read(), topology: async () => sim.topology(), addresses: async (request) => sim.addresses(request) });
machineContract('recorded tree', fixture);
machineContract('this host', new LinuxMachine({ rootDirectory: tmpdir() }));

t.test('what a recorded tree says', async (t) => {
  const { rootFilesystemBytes, ...reading } = await fixture.read();
  t.ok(rootFilesystemBytes !== null && rootFilesystemBytes > 0);
  t.strictSame(reading, {
    cpus: 4,
    memoryBytes: 16_384_000 * 1024,
    swapBytes: 2048 * 1024,
    hugePages: [{ pageSizeKiB: 2048, count: 7 }],
    maxPids: 20_000,
    machineId: 'm-1',
    systemUuid: 'UUID-1',
    bootId: 'b-1',
    kernelVersion: '6.1.0-test',
    osRelease: 'PRETTY_NAME="Test OS 1"\n',
    hasDeviceCheckpoint: true,
  });
  t.strictSame(await fixture.addresses({ resolve: 'node-1' }), {
    interfaceIps: ['127.0.0.1', '192.168.0.2', 'fe80::1', 'fd00::5', '169.254.1.1', '10.0.0.5'],
    dnsAddresses: ['10.0.0.5'],
    defaultRoute: { ipv4: '10.0.0.5', ipv6: 'fd00::5' },
  });
});

t.test('two sockets with four NUMA nodes, of which one has no CPUs, siblings, caches and a CPU that is offline', async (t) => {
  const cpu = (id: number, socket: number, core: number, l3: string) => ({
    [`/sys/devices/system/cpu/cpu${id}/topology/physical_package_id`]: `${socket}\n`,
    [`/sys/devices/system/cpu/cpu${id}/topology/core_id`]: `${core}\n`,
    [`/sys/devices/system/cpu/cpu${id}/cache/index0/level`]: '1\n',
    [`/sys/devices/system/cpu/cpu${id}/cache/index3/level`]: '3\n',
    [`/sys/devices/system/cpu/cpu${id}/cache/index3/id`]: `${l3}\n`,
  });
  const node = (id: number, cpus: string, kilobytes: number, distance: string) => ({
    [`/sys/devices/system/node/node${id}/cpulist`]: `${cpus}\n`,
    [`/sys/devices/system/node/node${id}/meminfo`]: `Node ${id} MemTotal:       ${kilobytes} kB\nNode ${id} MemFree: 1 kB\n`,
    [`/sys/devices/system/node/node${id}/distance`]: `${distance}\n`,
    [`/sys/devices/system/node/node${id}/hugepages/hugepages-2048kB/nr_hugepages`]: `${id}\n`,
  });
  const machine = new LinuxMachine({
    rootDirectory: tmpdir(),
    hostRoot: tree({
      '/proc/meminfo': 'MemTotal: 4000 kB\n',
      '/sys/devices/system/cpu/online': '0-2,4-6\n',
      ...cpu(0, 0, 0, '0'),
      ...cpu(4, 0, 0, '0'),
      ...cpu(1, 0, 1, '1'),
      ...cpu(5, 0, 1, '1'),
      ...cpu(2, 1, 0, '2'),
      ...cpu(6, 1, 0, '2'),
      '/sys/devices/system/node/online': '0-3\n',
      ...node(0, '0,4', 1000, '10 12 21 21'),
      ...node(1, '1,5', 1000, '12 10 21 21'),
      ...node(2, '2-3,6', 1000, '21 21 10 12'),
      ...node(3, '', 1000, '21 21 12 10'),
    }),
  });
  const { cores, numaNodes } = await machine.topology();
  t.strictSame(cores, [
    { numaNode: 0, socket: 0, uncoreCache: 0, threads: [0, 4] },
    { numaNode: 1, socket: 0, uncoreCache: 1, threads: [1, 5] },
    { numaNode: 2, socket: 1, uncoreCache: 2, threads: [2, 6] },
  ]);
  t.strictSame(numaNodes[1], { id: 1, memoryBytes: 1_024_000, hugePages: [{ pageSizeKiB: 2048, numPages: 1 }], distances: [12, 10, 21, 21] });
  t.equal(numaNodes.length, 4, 'also the one with memory alone');
});

t.test('a host without NUMA has one node with all there is', async (t) => {
  const { cores, numaNodes } = await fixture.topology();
  t.equal(cores.length, 4);
  t.strictSame(numaNodes, [{ id: 0, memoryBytes: 16_384_000 * 1024, hugePages: [{ pageSizeKiB: 2048, numPages: 7 }], distances: [10] }]);
});

t.test('a host that says little', async (t) => {
  const bare = new LinuxMachine({ rootDirectory: join(root, 'nowhere'), hostRoot: tree({ '/proc/meminfo': 'MemTotal: 1 kB\n' }), interfaces: () => ({}) });
  t.match(await bare.read(), { cpus: 1, machineId: '', bootId: '', kernelVersion: null, osRelease: null, rootFilesystemBytes: null, hasDeviceCheckpoint: false });
  t.strictSame((await bare.addresses({ resolve: null })).defaultRoute, { ipv4: null, ipv6: null });
  await t.rejects(new LinuxMachine({ rootDirectory: '/', hostRoot: tree({ '/proc/none': '' }) }).read(), { message: /names no MemTotal/ });
});
