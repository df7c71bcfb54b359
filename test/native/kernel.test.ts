// What only a real kernel shows: its log, pressure triggers, cgroup events, sd_notify, and records that were overwritten.
// A part that this machine doesn't offer is skipped, with the reason printed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { NativeBinding } from '../../src/adapters/native-linux/binding.d.ts';
import { fallbackNativeLinux } from '../../src/adapters/native-linux/fallback.js';
import { pressureTotalOf } from '../../src/adapters/native-linux/fallback-memory-triggers.js';
import { addonNativeLinux, type NativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { loadBinding } from '../../src/adapters/native-linux/loader.js';
import { keptMountOptions, mountFlagsOf } from '../../src/adapters/native-linux/mount-options.js';
import { parseMountinfo } from '../../src/adapters/native-linux/mountinfo.js';
import { NativeKernelLog } from '../../src/adapters/native-linux/native-kernel-log.js';
import { watchdogMicrosOf } from '../../src/adapters/native-linux/native-process-controls.js';
import { parseKmsgRecord } from '../../src/domain/values/kmsg-record.js';
import type { KernelLogBatch } from '../../src/ports/outbound/kernel-log.js';
import type { TriggerEvent } from '../../src/ports/outbound/memory-triggers.js';
import { Collector } from '../ports/collector.js';

// The whole file's bound, in place of tap's 30 s: floods and workers take longer on a busy machine.
t.setTimeout(540_000);

const loaded = loadBinding(false);
const options = { kernelLogPath: '/dev/kmsg', service: serviceEnvironmentOf({}) };
const ways: readonly (readonly [name: string, native: NativeLinux | null])[] = [
  ['addon', loaded.kind === 'addon' ? addonNativeLinux(loaded.binding, options) : null],
  ['fallback', fallbackNativeLinux(options, 'wanted by the test')],
];

function skipUnless(native: NativeLinux | null, usable: boolean, reason: string): { skip: string | false; timeout: number } {
  const skip = native === null ? 'SKIPPED: the addon is not built' : usable ? false : `SKIPPED: ${reason}`;
  return { skip, timeout: 90_000 };
}

function accessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

const memoryRoot = '/sys/fs/cgroup/memory';
const hasMemoryV1 = accessible(join(memoryRoot, 'cgroup.event_control'), constants.W_OK);

for (const [name, native] of ways) {
  await t.test(`${name}: the kernel's own log`, skipUnless(native, accessible('/dev/kmsg', constants.R_OK | constants.W_OK), '/dev/kmsg is not accessible'), async (t) => {
    const batches = new Collector<KernelLogBatch>();
    const log = native!.openKernelLog();
    // A record without a newline isn't finished until the next one comes.
    const marker = `kubelet-ts test ${process.pid} ${name}`;
    writeFileSync('/dev/kmsg', `<14>${marker} before\n`);
    log.follow(false, batches.push);
    writeFileSync('/dev/kmsg', `<14>${marker} after\n`);
    const texts = (): string[] => batches.all.flatMap((batch) => batch.records.map((record) => record.text));
    await batches.until('our record', () => texts().includes(`${marker} after`));
    t.notOk(texts().includes(`${marker} before`), 'only what came after');
    log.close();
    const whole = native!.openKernelLog();
    batches.clear();
    whole.follow(true, batches.push);
    await batches.until('both records', () => texts().includes(`${marker} before`) && texts().includes(`${marker} after`));
    const sequences = batches.all.flatMap((batch) => batch.records.map((record) => record.sequence));
    t.ok(
      sequences.every((sequence, index) => index === 0 || sequence > sequences[index - 1]!),
      'in order',
    );
    whole.close();
  });

  await t.test(`${name}: pressure trigger`, skipUnless(native, accessible('/proc/pressure/cpu', constants.W_OK), 'no PSI'), async (t) => {
    const events = new Collector<TriggerEvent>();
    // 0.1 % of the window: two busy processes on each processor are stalled far longer.
    const subscription = native!.memoryTriggers.onPressure({ path: '/proc/pressure/cpu', kind: 'some', stallMicros: 2_000, windowMicros: 2_000_000 }, events.push);
    const processors = Number(spawnSync('nproc', { encoding: 'utf8' }).stdout);
    const busy = Array.from({ length: processors * 2 }, () => spawn('sh', ['-c', 'i=0; while [ $i -lt 20000000 ]; do i=$((i+1)); done']));
    try {
      await events.until('fired', (all) => all.includes('fired'));
    } finally {
      for (const child of busy) child.kill('SIGKILL');
    }
    subscription.close();
    subscription.close();
    t.pass('fired');
    const wrong = (window: number) => () => native!.memoryTriggers.onPressure({ path: '/proc/pressure/cpu', kind: 'some', stallMicros: 1, windowMicros: window }, events.push);
    t.throws(wrong(1), { name: 'PortError', kind: 'invalid-argument' });
    t.throws(wrong(100_000_000), { name: 'PortError', kind: 'invalid-argument' });
  });

  await t.test(`${name}: memory threshold of a cgroup v1, and its end`, skipUnless(native, hasMemoryV1, 'no writable cgroup v1 memory hierarchy'), async (t) => {
    const directory = join(memoryRoot, `kubelet-ts-test-${process.pid}-${name}`);
    mkdirSync(directory);
    let child: ReturnType<typeof spawn> | null = null;
    try {
      const events = new Collector<TriggerEvent>();
      native!.memoryTriggers.onMemoryUsage(directory, 8n * 1024n * 1024n, events.push);
      // Joins the cgroup first, so that what it takes is charged there; holds 32 MiB until its input ends.
      child = spawn('sh', ['-c', `echo $$ > ${directory}/cgroup.procs && exec ${process.execPath} -e "globalThis.kept = Buffer.alloc(33554432, 1); process.stdin.resume()"`], {
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      await events.until('fired', (all) => all.includes('fired'));
      const exited = once(child, 'exit');
      child.stdin!.end();
      await exited;
      child = null;
      rmdirSync(directory);
      await events.until('ended', (all) => all.at(-1) === 'ended');
      t.equal(events.all.filter((event) => event === 'ended').length, 1);
      t.throws(() => native!.memoryTriggers.onMemoryUsage(directory, 1n, events.push), { name: 'PortError', kind: 'not-found' });
    } finally {
      child?.kill('SIGKILL');
      if (child !== null) await once(child, 'exit');
      if (existsSync(directory)) rmdirSync(directory);
    }
  });
}

await t.test('addon: overwritten records come as lost', async (t) => {
  let deliver: ((records: string[], overruns: number, status: number) => void) | null = null;
  const fake = {
    kmsgOpen: (_path: string, _fromOldest: boolean, onBatch: (records: string[], overruns: number, status: number) => void) => {
      deliver = onBatch;
      return 1;
    },
    watchClose: () => 0,
  } as unknown as NativeBinding;
  const batches: KernelLogBatch[] = [];
  const log = new NativeKernelLog(fake, '/dev/kmsg');
  log.follow(true, (batch) => batches.push(batch));
  deliver!(['6,9,1,-;after the gap\n', 'no record'], 2, 0);
  t.match(batches, [{ records: [{ sequence: 9, text: 'after the gap' }], lost: true, ended: null }]);
  deliver!([], 0, -5);
  t.match(batches[1], { records: [], lost: false, ended: /EIO/ });
  deliver!(['6,10,1,-;late\n'], 0, 0);
  t.equal(batches.length, 2, 'nothing after the end');
});

const python = spawnSync('python3', ['--version']).status === 0;
await t.test(
  'addon: sd_notify reaches a datagram socket',
  { skip: loaded.kind !== 'addon' ? 'SKIPPED: the addon is not built' : python ? false : 'SKIPPED: no python3 to receive with' },
  async (t) => {
    // Not below the test's own directory: a socket's path may have 107 bytes only.
    const directory = mkdtempSync(join(tmpdir(), 'kubelet-native-'));
    t.teardown(() => rmSync(directory, { recursive: true }));
    const path = join(directory, 'notify');
    const receiver = spawn('python3', [
      '-c',
      'import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\nprint("bound",flush=True)\nprint(repr(s.recv(4096)),flush=True)',
      path,
    ]);
    const output = new Collector<string>();
    receiver.stdout.setEncoding('utf8').on('data', output.push);
    await output.until('bound', (all) => all.join('').includes('bound'));
    const { serviceManager } = addonNativeLinux((loaded as { binding: NativeBinding }).binding, {
      ...options,
      service: { notifySocket: path, watchdogMicros: '30000000', watchdogPid: null },
    });
    t.equal(serviceManager.notify(['READY=1', 'STATUS=up']), 'sent');
    await output.until('the message', (all) => all.join('').includes("b'READY=1\\nSTATUS=up'"));
    t.equal(serviceManager.watchdogMicros(), 30_000_000);
    const gone = addonNativeLinux((loaded as { binding: NativeBinding }).binding, {
      ...options,
      service: { notifySocket: `${path}.gone`, watchdogMicros: null, watchdogPid: null },
    });
    t.throws(() => gone.serviceManager.notify(['READY=1']), { name: 'PortError', kind: 'not-found' });
  },
);

await t.test('service manager: not asked for, and whose watchdog it is', async (t: Test) => {
  for (const [, native] of ways) {
    if (native === null) continue;
    t.equal(native.serviceManager.notify(['READY=1']), 'unsupervised');
    t.equal(native.serviceManager.watchdogMicros(), null);
  }
  const rows: readonly (readonly [notifySocket: string | null, micros: string | null, pid: string | null, expected: number | null])[] = [
    ['/s', '5000000', '42', 5_000_000],
    ['/s', '5000000', null, 5_000_000],
    ['/s', '5000000', '43', null],
    [null, '5000000', '42', null],
    ['/s', null, '42', null],
    ['/s', '0', '42', null],
    ['/s', '-1', '42', null],
    ['/s', '5s', '42', null],
    ['/s', '99999999999999999999', '42', null],
  ];
  for (const [notifySocket, watchdogMicros, watchdogPid, expected] of rows) {
    t.equal(watchdogMicrosOf({ notifySocket, watchdogMicros, watchdogPid }, 42), expected, JSON.stringify([notifySocket, watchdogMicros, watchdogPid]));
  }
});

await t.test('text forms: kmsg, mountinfo, mount options, pressure', async (t) => {
  for (const broken of ['', 'text', '6,1;x', 'a,b,c;x', '6,1,x,-;t']) t.equal(parseKmsgRecord(broken).ok, false, JSON.stringify(broken));
  t.match(parseKmsgRecord('6,1,2,-;a\\x5cx41\\x0ab'), { ok: true, value: { message: 'a\\x5cx41\\x0ab' } }, 'escapes are kept');
  const table = [
    '36 35 98:0 /mnt1 /mnt\\0402 rw,noatime shared:1 master:2 - ext3 /dev/root rw,errors=continue',
    'nonsense',
    '37 35 0:5 / /x//deleted ro - tmpfs tm\\134pfs rw',
    '',
  ].join('\n');
  t.match(parseMountinfo(table), [
    {
      mountId: 36,
      majorMinor: '98:0',
      root: '/mnt1',
      mountPoint: '/mnt 2',
      options: ['rw', 'noatime'],
      tags: ['shared:1', 'master:2'],
      fsType: 'ext3',
      source: '/dev/root',
      superOptions: ['rw', 'errors=continue'],
    },
    { mountId: 37, mountPoint: '/x', tags: [], source: 'tm\\pfs' },
  ]);
  t.equal(parseMountinfo(table).length, 2);
  t.ok(parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).some((entry) => entry.mountPoint === '/proc' && entry.fsType === 'proc'));
  t.strictSame(mountFlagsOf(['ro', 'nosuid', 'size=1', 'rw', 'mode=0755']), { flags: 2, data: 'size=1,mode=0755' });
  t.strictSame(mountFlagsOf(['defaults', 'noexec', 'strictatime']), { flags: 0x1000008, data: '' });
  t.strictSame(keptMountOptions(['relatime', 'rw', 'nodev', 'ro']), ['ro', 'nodev', 'relatime']);
  t.equal(pressureTotalOf('some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n', 'full'), 7);
  t.equal(pressureTotalOf('some avg10=0.00 total=12\n', 'full'), 0);
});
