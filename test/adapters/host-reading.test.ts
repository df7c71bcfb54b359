// Reading a host, on recorded trees of /proc and /sys: cgroup v2 with everything, v1 with nothing, and missing files.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { NetworkInterfaceInfo } from 'node:os';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { hostAddresses, readHost, readTunables } from '../../src/adapters/linux/index.js';

/** Makes files below a new directory; a path that ends in `/` is a directory. */
function tree(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(path.endsWith('/') ? join(root, path) : dirname(join(root, path)), { recursive: true });
    if (!path.endsWith('/')) writeFileSync(join(root, path), text);
  }
  return root;
}

const meminfo = 'MemTotal:       16384000 kB\nMemFree:         100 kB\nSwapTotal:       2048 kB\n';
const swaps = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';

t.test('a host with cgroup v2, swap, huge pages and throttled CPUs', async (t) => {
  const root = tree({
    '/proc/meminfo': meminfo,
    '/proc/swaps': `${swaps}/dev/sda2 partition 2048 0 -2\n`,
    '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
    '/proc/self/cgroup': '0::/system.slice/kubelet.service\n',
    '/sys/fs/cgroup/system.slice/kubelet.service/memory.swap.max': 'max\n',
    '/sys/kernel/mm/hugepages/hugepages-1048576kB/': '',
    '/sys/kernel/mm/hugepages/hugepages-2048kB/': '',
    '/sys/devices/system/cpu/online': '0-2,10\n',
    '/sys/devices/system/cpu/cpu10/thermal_throttle/': '',
    '/sys/devices/system/cpu/cpu2/thermal_throttle/': '',
    '/sys/devices/system/cpu/cpu0/': '',
    '/sys/devices/system/cpu/cpufreq/thermal_throttle/': '',
    '/sys/fs/selinux/enforce': '1',
    '/etc/selinux/config': '# a comment\nSELINUX=enforcing\nSELINUXTYPE=targeted\n',
    '/etc/selinux/targeted/contexts/lxc_contexts': 'process = "system_u:system_r:container_t:s0"\nfile = "system_u:object_r:container_file_t:s0"\n',
    '/sys/kernel/security/apparmor/': '',
    '/sys/module/apparmor/parameters/enabled': 'Y\n',
  });
  t.same(readHost(root), {
    memoryBytes: 16_384_000 * 1024,
    swapBytes: 2048 * 1024,
    swapOn: true,
    cgroupVersion: 2,
    swapControllerAvailable: true,
    hugePageBytes: [2 * 1024 ** 2, 1024 ** 3],
    onlineCpus: '0-2,10',
    thermalThrottlePaths: ['/sys/devices/system/cpu/cpu2/thermal_throttle', '/sys/devices/system/cpu/cpu10/thermal_throttle'],
    selinuxEnabled: true,
    seLinuxFileLabel: 'system_u:object_r:container_file_t:s0',
    apparmorEnabled: true,
  });
});

t.test('a bare host with cgroup v1: what is missing is not there', async (t) => {
  const v1 = '30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n';
  const bare = tree({ '/proc/meminfo': 'MemTotal: 1 kB\n', '/proc/swaps': swaps, '/proc/self/mountinfo': v1 });
  t.match(readHost(bare), { memoryBytes: 1024, swapBytes: 0, swapOn: false, cgroupVersion: 1, swapControllerAvailable: false, hugePageBytes: [], thermalThrottlePaths: [] });
  const accounting = tree({ '/proc/meminfo': 'MemTotal: 1 kB\n', '/proc/self/mountinfo': v1, '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '1' });
  t.equal(readHost(accounting).swapControllerAvailable, true);
  t.throws(() => readHost(tree({ '/proc/meminfo': '' })), { message: '/proc/meminfo names no MemTotal' });
});

t.test('the SELinux label of containers’ files', async (t) => {
  const base = { '/proc/meminfo': meminfo, '/etc/selinux/config': 'SELINUXTYPE=mls\n', '/etc/selinux/mls/contexts/lxc_contexts': 'file = "of:the:host:s0"\n' };
  const on = { '/sys/fs/selinux/enforce': '0\n', ...base };
  const containers = { '/usr/share/containers/selinux/contexts': 'process = "p"\nfile="of:the:containers:s0"\nro_file = "x"\n' };
  t.match(readHost(tree({ ...on, ...containers })), { selinuxEnabled: true, seLinuxFileLabel: 'of:the:containers:s0' }, 'the containers’ policy is asked first');
  t.match(readHost(tree(on)), { seLinuxFileLabel: 'of:the:host:s0' });
  t.match(readHost(tree({ '/proc/meminfo': meminfo, '/sys/fs/selinux/enforce': '1' })), { selinuxEnabled: true, seLinuxFileLabel: '' });
  t.match(readHost(tree({ ...base, ...containers })), { selinuxEnabled: false, seLinuxFileLabel: '' }, 'a policy that isn’t loaded');
});

t.test('AppArmor counts when its module is there and on', async (t) => {
  const directory = { '/sys/kernel/security/apparmor/': '' };
  const rows: readonly (readonly [string, Readonly<Record<string, string>>, boolean])[] = [
    ['on', { ...directory, '/sys/module/apparmor/parameters/enabled': 'Y\n' }, true],
    ['switched off at boot', { ...directory, '/sys/module/apparmor/parameters/enabled': 'N\n' }, false],
    ['a directory alone', directory, false],
    ['a parameter without its file system', { '/sys/module/apparmor/parameters/enabled': 'Y\n' }, false],
    ['nothing of it', {}, false],
  ];
  for (const [sentence, files, expected] of rows) t.equal(readHost(tree({ '/proc/meminfo': meminfo, ...files })).apparmorEnabled, expected, sentence);
});

t.test('this host can be read', async (t) => {
  const host = readHost();
  t.ok(host.memoryBytes > 0);
  t.match(host.onlineCpus, /^[\d,-]+$/);
});

t.test('kernel tunables', async (t) => {
  const root = tree({ '/proc/sys/vm/overcommit_memory': '1\n', '/proc/sys/kernel/panic': '-1\n', '/proc/sys/vm/odd': 'a b\n' });
  t.same(readTunables(['vm/overcommit_memory', 'kernel/panic', 'vm/odd', 'vm/none'], root), { 'vm/overcommit_memory': 1, 'kernel/panic': -1, 'vm/odd': null, 'vm/none': null });
});

t.test('addresses: the interface of the default route first, nothing that others cannot reach', async (t) => {
  const address = (text: string, internal = false) => ({ address: text, internal }) as NetworkInterfaceInfo;
  const interfaces = {
    lo: [address('127.0.0.1', true)],
    docker0: [address('172.17.0.1')],
    eth1: [address('10.0.0.5'), address('fe80::1'), address('fd00::5')],
    zeroconf: [address('169.254.1.1')],
  };
  const routes = 'Iface\tDestination\tGateway\neth1\t00000000\t0100000A\ndocker0\t000011AC\t00000000\n';
  t.same(hostAddresses(interfaces, routes), ['10.0.0.5', 'fd00::5', '172.17.0.1']);
  t.same(hostAddresses(interfaces, ''), ['172.17.0.1', '10.0.0.5', 'fd00::5']);
});
