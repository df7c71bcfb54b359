// The addon's lifecycle: bad arguments, use after close, descriptors, workers that end with everything open, and the process's own end.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import type { NativeBinding } from '../../src/adapters/native-linux/binding.d.ts';
import { errno } from '../../src/adapters/native-linux/errno.js';
import { type InotifyBatch, InotifyWatcher, inotifyMask } from '../../src/adapters/native-linux/inotify-watcher.js';
import { bindingCandidates, loadBinding, loadBindingFrom, nativeAbi } from '../../src/adapters/native-linux/loader.js';
import { Collector } from '../ports/collector.js';

// The whole file's bound, in place of tap's 30 s: floods and workers take longer on a busy machine.
t.setTimeout(540_000);

const loaded = loadBinding(false);
const skip = loaded.kind === 'addon' ? false : `SKIPPED, the addon is not built: ${loaded.reason}`;
const addon = { skip, timeout: 120_000 };
const { binding, path: addonPath } = loaded.kind === 'addon' ? loaded : { binding: null as unknown as NativeBinding, path: '' };

/** Descriptors by what they lead to; the directory being read is left out. */
function descriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}

/** uv handles are closed in the loop's closing phase: one turn later they are gone. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

await t.test('bad arguments are TypeErrors that name function and argument', addon, async (t) => {
  const nothing = (): void => {};
  const good: Readonly<Record<string, readonly unknown[]>> = {
    inotifyOpen: [nothing],
    inotifyAdd: [1, '/tmp', 1],
    inotifyRemove: [1, 1],
    kmsgOpen: ['/nonexistent', true, nothing],
    psiOpen: ['/nonexistent', 'some 1 1', nothing],
    cgroupEventOpen: ['/nonexistent', '/nonexistent', '', nothing],
    watchKeepAlive: [1, true],
    watchClose: [1],
    fileBatchOpen: [1],
    ...{ fileBatchAdd: [1, '/tmp'], fileBatchAddNumbers: [1, '/tmp', 1, ''], fileBatchRemove: [1, 1] },
    fileBatchRead: [1, new Int32Array(1), 8, new Uint8Array(8), new Int32Array(2)],
    fileBatchReadOnPool: [1, new Int32Array(1), 8],
    fileBatchNumbersOnPool: [1, new Int32Array(1), 8],
    fileBatchDescriptors: [1],
    fileBatchClose: [1],
    fileStepsOnPool: [new Int32Array(0), new Int32Array(0), ''],
    ...{ mount: ['', '/nonexistent', '', 0, ''], unmount: ['/nonexistent', 0] },
    ...{ mountRoot: ['/nonexistent'], statfs: ['/nonexistent'], statPath: ['/nonexistent', true] },
    ...{ treeUsage: ['/nonexistent', 1], treeOwnership: ['/nonexistent', 0, 0, 0, true], treeOwnershipProgress: ['/nonexistent'] },
    ...{ projectUsage: ['/nonexistent'], projectQuota: ['/nonexistent', 1], projectAssign: ['/nonexistent', 1, true], projectLimit: ['/nonexistent', 1, 0n] },
    ...{ openBeneath: [1, 'x', 0, 0, 8], closeDescriptor: [1] },
    sdNotify: ['/nonexistent', ''],
    flockTry: [1, true],
    limitGet: [7],
    limitSet: [7, 1n, 1n],
  };
  const functions = Object.entries(binding).filter(([, value]) => typeof value === 'function');
  t.strictSame(
    functions.map(([name]) => name),
    Object.keys(good),
    'every function has a row, in the order of the table',
  );
  const wrong: readonly unknown[] = [
    undefined,
    null,
    {},
    Symbol('x'),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1.5,
    2 ** 40,
    -(2 ** 40),
    'a\0b',
    -1n,
    2n ** 64n,
    [],
    new Uint16Array(4),
    new Float64Array(4),
  ];
  for (const [name, args] of Object.entries(good)) {
    const call = (binding as unknown as Record<string, (...args: unknown[]) => unknown>)[name]!;
    for (const position of args.keys()) {
      for (const value of wrong) {
        const changed = args.with(position, value);
        t.throws(
          () => call(...changed),
          { name: 'TypeError', message: new RegExp(`^${name}: [a-zA-Z]+ must be `) },
          `${name}, argument ${position}: ${JSON.stringify(String(value))}`,
        );
      }
    }
    t.throws(() => call(), TypeError, `${name} without arguments`);
  }
  t.throws(() => binding.fileBatchRead(1, new Int32Array(2), 8, new Uint8Array(15), new Int32Array(4)), { name: 'TypeError', message: /^fileBatchRead: out/ });
  t.throws(() => binding.fileBatchRead(1, new Int32Array(2), 8, new Uint8Array(16), new Int32Array(3)), { name: 'TypeError', message: /^fileBatchRead: items/ });
  t.throws(() => binding.fileBatchReadOnPool(1, new Int32Array(1024), 2 ** 31), { name: 'TypeError', message: /1 GiB/ });
});

await t.test('a list of steps whose numbers lead nowhere is refused', addon, async (t) => {
  for (const [step, texts] of [
    [[0, -1, 0, 0], 'a\0'],
    [[17, -1, 0, 0], 'a\0'],
    [[3, -2, 0, 0], 'a\0'],
    [[3, 0, 0, 0], 'a\0'],
    [[3, -1, 0, -1], 'a\0'],
    [[3, -1, 0], 'a\0'],
    [[3, -1, 0, 0], 'a'],
    [[3, -1, 0, 0], 'a\0b\0'],
  ] as const)
    t.throws(() => binding.fileStepsOnPool(new Int32Array(0), Int32Array.from(step), texts), { name: 'TypeError', message: /^fileStepsOnPool: / }, JSON.stringify([step, texts]));
  t.equal(binding.fileStepsOnPool(Int32Array.of(-1), Int32Array.of(3, 0, 0, 0), 'a\0'), -errno.EBADF);
});

await t.test('a stale or foreign handle is -EBADF, never memory', addon, async (t) => {
  const handle = binding.inotifyOpen(() => {});
  t.ok(handle > 0);
  t.equal(binding.fileBatchAdd(handle, '/x'), -errno.EBADF, 'a watch is no batch');
  t.equal(binding.watchClose(handle), 0);
  const batch = binding.fileBatchOpen(1);
  t.equal(binding.fileBatchClose(batch), 0);
  for (const stale of [handle, batch, 0, -1, 2 ** 31 - 1]) {
    t.equal(binding.inotifyAdd(stale, '/tmp', 1), -errno.EBADF);
    t.equal(binding.inotifyRemove(stale, 1), -errno.EBADF);
    t.equal(binding.watchKeepAlive(stale, true), -errno.EBADF);
    t.equal(binding.watchClose(stale), -errno.EBADF);
    t.equal(binding.fileBatchAdd(stale, '/tmp'), -errno.EBADF);
    t.equal(binding.fileBatchRemove(stale, 0), -errno.EBADF);
    t.equal(binding.fileBatchRead(stale, new Int32Array(0), 0, new Uint8Array(0), new Int32Array(0)), -errno.EBADF);
    t.equal(binding.fileBatchReadOnPool(stale, new Int32Array(0), 0), -errno.EBADF);
    t.equal(binding.fileBatchDescriptors(stale), -errno.EBADF);
    t.equal(binding.fileBatchClose(stale), -errno.EBADF);
  }
  t.equal(binding.closeDescriptor(1), -errno.EBADF, 'only descriptors that it handed out');
  t.equal(binding.openBeneath(-100, 'x', 0, 0, 8), -errno.EBADF, 'not the current directory');
  t.equal(
    binding.kmsgOpen('/proc/self/stat', true, () => {}),
    -errno.EPERM,
    'a file that can not be polled',
  );
});

await t.test('InotifyWatcher: use after close, double close, close within its own callback', addon, async (t) => {
  const directory = t.testdir({});
  const batches = new Collector<InotifyBatch>();
  const watcher = new InotifyWatcher(binding, (batch) => {
    watcher.close();
    watcher.close();
    batches.push(batch);
  });
  const wd = watcher.addWatch(directory, inotifyMask.create);
  t.equal(watcher.addWatch(directory, inotifyMask.create), wd);
  writeFileSync(join(directory, 'x'), '');
  await batches.until('a batch', (all) => all.length > 0);
  t.match(batches.all, [{ events: [{ wd, mask: inotifyMask.create, cookie: 0, name: 'x' }], lost: false, failure: null }]);
  t.ok(watcher.closed);
  for (const call of [() => watcher.addWatch(directory, 1), () => watcher.removeWatch(wd), () => watcher.ref(), () => watcher.unref()]) {
    t.throws(call, { name: 'PortError', kind: 'failed-precondition' });
  }
});

await t.test('self events: the watched directory deleted, and moved', addon, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-native-'));
  const batches = new Collector<InotifyBatch>();
  const watcher = new InotifyWatcher(binding, batches.push);
  watcher.addWatch(directory, inotifyMask.deleteSelf | inotifyMask.moveSelf);
  rmSync(directory, { recursive: true });
  const masks = () => batches.all.flatMap((batch) => batch.events.map((event) => event.mask));
  await batches.until('IN_IGNORED', () => masks().includes(inotifyMask.ignored));
  t.strictSame(masks(), [inotifyMask.deleteSelf, inotifyMask.ignored]);
  watcher.close();
});

await t.test('descriptors: a hundred rounds of everything leave none behind', addon, async (t) => {
  const directory = t.testdir({ a: 'a', b: 'b' });
  const round = async (): Promise<void> => {
    const watcher = binding.inotifyOpen(() => {});
    binding.inotifyAdd(watcher, directory, 0xfff);
    const batch = binding.fileBatchOpen(4);
    const slots = Int32Array.of(binding.fileBatchAdd(batch, join(directory, 'a')), binding.fileBatchAdd(batch, '/proc/self/stat'));
    binding.fileBatchRead(batch, slots, 64, new Uint8Array(128), new Int32Array(4));
    const pending = binding.fileBatchReadOnPool(batch, slots, 64);
    // Closed with a read outstanding: the read still has its own.
    binding.fileBatchClose(batch);
    binding.watchClose(watcher);
    const result = await pending;
    if (typeof result === 'number') throw new Error(`read: ${result}`);
    t.equal(Buffer.from(result.bytes.subarray(0, 1)).toString(), 'a');
    binding.kmsgOpen('/nonexistent', true, () => {});
    binding.psiOpen('/proc/pressure/memory', 'nonsense', () => {});
    binding.kmsgOpen('/proc/self/stat', true, () => {});
  };
  await round();
  await nextTurn();
  const before = descriptors();
  for (let index = 0; index < 100; index++) await round();
  await nextTurn();
  t.strictSame(descriptors().length, before.length);
});

await t.test('pool work is bounded', addon, async (t) => {
  const started = Array.from({ length: 200 }, () => binding.mountRoot('/'));
  const refused = started.filter((status) => typeof status === 'number');
  t.ok(refused.length > 0 && refused.every((status) => status === -errno.EAGAIN), `${refused.length} of 200 refused`);
  for (const status of await Promise.all(started.filter((status) => typeof status !== 'number'))) t.equal(status, 1);
  t.equal(await binding.mountRoot('/'), 1, 'and accepted again afterwards');
});

/** Opens one of everything and reads on the pool; then ends as `ending` says. */
const workerSource = (ending: string): string => `
  const { workerData, parentPort } = require('node:worker_threads');
  const binding = require(workerData.addonPath);
  const fs = require('node:fs');
  const inotify = binding.inotifyOpen(() => {});
  binding.inotifyAdd(inotify, workerData.directory, 0xfff);
  binding.watchKeepAlive(inotify, true);
  binding.kmsgOpen('/dev/kmsg', true, () => {});
  binding.psiOpen('/proc/pressure/memory', 'some 500000 2000000', () => {});
  const batch = binding.fileBatchOpen(16);
  const slots = Int32Array.from(['/proc/self/stat', '/proc/self/status', '/proc/meminfo'].map((path) => binding.fileBatchAdd(batch, path)));
  binding.fileBatchRead(batch, slots, 8192, new Uint8Array(3 * 8192), new Int32Array(6));
  const root = fs.openSync(workerData.directory, 0o10000000);
  binding.openBeneath(root, '.', 0o10000000, 0, 8);
  fs.closeSync(root);
  for (let index = 0; index < 20; index++) binding.fileBatchReadOnPool(batch, slots, 8192);
  // Walks that are still under way when it ends, and are left to themselves.
  for (let index = 0; index < 20; index++) binding.treeUsage('/usr', 500);
  binding.statPath(workerData.directory, true);
  // Events are being delivered when it ends.
  for (let index = 0; index < 50; index++) fs.writeFileSync(workerData.directory + '/' + index, '');
  parentPort.postMessage('ready');
  ${ending}
`;

const endings: readonly (readonly [name: string, source: string, terminate: boolean])[] = [
  ['terminate()', 'for (;;) fs.writeFileSync(workerData.directory + "/again", "");', true],
  ['terminate() while idle', '', true],
  ['process.exit()', 'setImmediate(() => process.exit(0));', false],
  ['falling off the end', 'binding.watchKeepAlive(inotify, false);', false],
];

for (const [name, source, terminate] of endings) {
  await t.test(`workers that end with open watches: ${name}`, addon, async (t) => {
    const directory = t.testdir({});
    const run = async (): Promise<void> => {
      const worker = new Worker(workerSource(source), { eval: true, workerData: { addonPath, directory } });
      const exited = once(worker, 'exit');
      await once(worker, 'message');
      if (terminate) await worker.terminate();
      await exited;
    };
    await run();
    // What was left to itself ends soon.
    for (let last = -1; last !== descriptors().length; await setTimeout(200)) last = descriptors().length;
    const before = descriptors();
    for (let index = 0; index < 10; index++) await run();
    for (let turn = 0; turn < 500 && descriptors().length > before.length; turn++) await setTimeout(20);
    t.equal(descriptors().length, before.length, 'their descriptors are closed');
    const still = binding.fileBatchOpen(1);
    t.ok(still > 0, 'the addon works on');
    binding.fileBatchClose(still);
  });
}

/** Runs a script in a process of its own; null when it had to be killed. */
function runScript(source: string): { status: number | null; stdout: string; stderr: string } {
  const result = spawnSync(process.execPath, ['-e', `const binding = require(${JSON.stringify(addonPath)});\n${source}`], { encoding: 'utf8', timeout: 20_000 });
  return { status: result.status, stdout: result.stdout, stderr: result.stderr };
}

await t.test('the process: not kept alive unless asked; ends cleanly with everything open', addon, async (t) => {
  const open = `const watch = binding.inotifyOpen(() => console.log('event')); binding.inotifyAdd(watch, '/tmp', 0x100); binding.kmsgOpen('/dev/kmsg', true, () => {});`;
  t.match(runScript(open), { status: 0, stderr: '' }, 'an open watch alone does not hold it');
  t.match(runScript(`${open} setTimeout(() => process.exit(7), 1)`), { status: 7, stderr: '' }, 'process.exit with open watches');
  t.match(runScript(`${open} binding.mountRoot('/').then((root) => console.log('root', root))`), { status: 0, stdout: 'root 1\n' }, 'pool work is waited for');
  const kept = `const fs = require('node:fs'); const dir = fs.mkdtempSync('/tmp/kubelet-native-');
    const watch = binding.inotifyOpen((records, names) => { console.log(names[0]); binding.watchClose(watch); fs.rmSync(dir, { recursive: true }); });
    binding.inotifyAdd(watch, dir, 0x100); binding.watchKeepAlive(watch, true);
    const { spawn } = require('node:child_process'); spawn('touch', [dir + '/late'], { stdio: 'ignore' }).unref();`;
  t.match(runScript(kept), { status: 0, stdout: 'late\n', stderr: '' }, 'kept alive when asked, until closed');
});

await t.test('an exception in a callback is an uncaught exception, and the watch goes on', addon, async (t) => {
  const source = `const fs = require('node:fs'); const dir = fs.mkdtempSync('/tmp/kubelet-native-');
    let calls = 0;
    process.on('uncaughtException', (error) => { console.log(error.message); fs.writeFileSync(dir + '/b', ''); });
    const watch = binding.inotifyOpen((records, names) => {
      if (calls++ === 0) throw new Error('thrown by ' + names[0]);
      console.log('then', names[0]); binding.watchClose(watch); fs.rmSync(dir, { recursive: true });
    });
    binding.inotifyAdd(watch, dir, 0x100); binding.watchKeepAlive(watch, true);
    fs.writeFileSync(dir + '/a', '');`;
  t.match(runScript(source), { status: 0, stdout: 'thrown by a\nthen b\n', stderr: '' });
});

await t.test('loader: what is absent, broken or of another ABI is said, and required means an error', async (t: Test) => {
  const directory = t.testdir({ 'broken.node': 'not a library', 'other.cjs': 'exports.abi = 999;' });
  t.match(loadBindingFrom([join(directory, 'absent.node')]), { kind: 'absent', reason: /no addon at .*absent\.node; build it with/ });
  t.match(loadBindingFrom([join(directory, 'broken.node')]), { kind: 'absent', reason: /broken\.node can't be loaded/ });
  t.match(loadBindingFrom([join(directory, 'other.cjs')]), { kind: 'absent', reason: new RegExp(`ABI 999, this version needs ${nativeAbi}`) });
  t.ok(bindingCandidates(fileURLToPath(new URL('.', import.meta.url))).some((path) => path.endsWith('build/Release/kubelet_native.node')));
  if (loaded.kind === 'addon') t.equal(loaded.binding.abi, nativeAbi);
});
