// The ports of volumes: one contract on the model and on real files, and cases of real file systems and kernels.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LinuxHostPaths } from '../../src/adapters/linux/index.js';
import { openNativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { knowsNoSwap } from '../../src/adapters/storage/file-pod-volumes.js';
import { FilePodDirectories, FilePodVolumes, FileSubPaths } from '../../src/adapters/storage/index.js';
import type { SubPathStep } from '../../src/ports/outbound/pod-volumes.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { disk, hostPathsContract, kindOf, podVolumesContract, quietCall, subPathsContract, type VolumesUnderTest } from './pod-volumes.contract.js';
import { portOf } from './sim-port.js';

function simulated(): VolumesUnderTest {
  const host = new SimHost({ seed: 1 });
  host.models.podVolumes.putHostPath('/srv', 'directory');
  const directories = portOf<FilePodDirectories>(host, 'podDirectories');
  return {
    volumes: portOf(host, 'podVolumes'),
    hostPaths: portOf(host, 'hostPaths'),
    subPaths: portOf(host, 'subPaths'),
    rootDirectory: host.settings.rootDirectory,
    hostDirectory: '/srv',
    preparePod: (uid) => directories.prepare({ uid }, quietCall),
    removePod: (uid) => directories.remove({ uid }, quietCall),
  };
}

interface RealVolumes extends VolumesUnderTest {
  readonly base: string;
  readonly directories: FilePodDirectories;
  readonly subPaths: FileSubPaths;
  pathOf(volume: string): string;
}

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);

function real(t: Test): RealVolumes {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'pod-volumes-')));
  const rootDirectory = join(base, 'root');
  const directories = FilePodDirectories.open({ rootDirectory, podLogsDirectory: join(base, 'logs') });
  const volumes = FilePodVolumes.open({ rootDirectory }, native.mounts, native.openBeneath);
  const subPaths = FileSubPaths.open({ rootDirectory }, native.mounts, native.trees);
  mkdirSync(join(base, 'srv'));
  const pathOf = (volume: string): string => join(rootDirectory, 'pods/u1/volumes/kubernetes.io~empty-dir', volume);
  t.teardown(async () => {
    // Unmounts what a failed test left.
    for (const name of ['work', 'work/inner', 'work']) await native.mounts.unmount({ target: pathOf(name), force: false }, quietCall).catch(() => null);
    directories.close();
    volumes.close();
    subPaths.close();
    rmSync(base, { recursive: true });
  });
  return {
    base,
    directories,
    volumes,
    subPaths,
    rootDirectory,
    hostPaths: new LinuxHostPaths(native.trees),
    hostDirectory: join(base, 'srv'),
    preparePod: (uid) => directories.prepare({ uid }, quietCall),
    removePod: (uid) => directories.remove({ uid }, quietCall),
    pathOf,
  };
}

const mode = (path: string): number => statSync(path).mode & 0o7777;
const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? false : 'needs root';
const mountLine = (path: string): string | undefined =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .findLast((line) => line.split(' ')[1] === path);

for (const [what, make] of [
  ['the model', simulated],
  ['files', real],
] as const) {
  t.test(`${what}: volumes`, (t) => podVolumesContract(t, make(t)));
  t.test(`${what}: host paths`, (t) => hostPathsContract(t, make(t)));
}

t.test('the model: sub paths', (t) => subPathsContract(t, simulated()));
t.test('files: sub paths', { skip: asRoot }, (t) => subPathsContract(t, real(t)));

t.test('what is bound is known again also where a link leads to the root directory', { skip: asRoot }, async (t) => {
  const { base, directories, rootDirectory, pathOf, volumes } = real(t);
  await directories.prepare({ uid: 'u1' }, quietCall);
  await volumes.setUp(disk, quietCall);
  symlinkSync(rootDirectory, join(base, 'link'));
  const linked = FileSubPaths.open({ rootDirectory: join(base, 'link') }, native.mounts, native.trees);
  t.teardown(() => linked.close());
  const target = join(base, 'link/pods/u1/volume-subpaths/work/c/0');
  const source = pathOf('work');
  t.equal(await linked.compare({ source, target }, quietCall), 'none');
  const steps = [
    { operation: 'ensure-directory', path: target, mode: 0o750 },
    { operation: 'bind', root: source, source, target },
  ] as const;
  await linked.carryOut({ uid: 'u1', steps }, quietCall);
  t.equal(await linked.compare({ source, target }, quietCall), 'same-file');
  t.match(await volumes.list({ uid: 'u1' }, quietCall), { subPaths: [{ volume: 'work', containers: [{ name: 'c', entries: [{ name: '0', isMounted: true }] }] }] });
  const undo = [
    { operation: 'unmount', path: target },
    { operation: 'remove', path: target },
  ] as const;
  await linked.carryOut({ uid: 'u1', steps: undo }, quietCall);
  t.equal(await linked.compare({ source, target }, quietCall), 'none');
});

t.test('modes of the directories above a volume', async (t) => {
  const { volumes, preparePod, rootDirectory } = real(t);
  await preparePod('u1');
  await volumes.setUp(disk, quietCall);
  const pod = join(rootDirectory, 'pods/u1');
  t.strictSame(
    [pod, join(pod, 'volumes'), join(pod, 'volumes/kubernetes.io~empty-dir')].map((path) => mode(path).toString(8)),
    ['750', '750', '755'],
    'as the reference makes them',
  );
});

t.test('a link that turns up in a volume leads nowhere', { skip: asRoot }, async (t) => {
  const { volumes, subPaths, pathOf, preparePod, rootDirectory, base } = real(t);
  await preparePod('u1');
  await volumes.setUp(disk, quietCall);
  const root = pathOf('work');
  const target = join(rootDirectory, 'pods/u1/volume-subpaths/work/c/0');
  mkdirSync(join(base, 'outside'));
  symlinkSync(join(base, 'outside'), join(root, 'link'));
  const doing = (steps: readonly SubPathStep[]) => kindOf(() => subPaths.carryOut({ uid: 'u1', steps }, quietCall));
  t.equal(await doing([{ operation: 'make-directory', root, path: `${root}/link/made`, mode: 0o777 }]), 'permission-denied');
  t.equal(
    await doing([
      { operation: 'ensure-directory', path: target, mode: 0o750 },
      { operation: 'bind', root, source: `${root}/link`, target },
    ]),
    'permission-denied',
  );
  t.notOk(existsSync(join(base, 'outside/made')));
  t.equal(mountLine(target), undefined);
});

t.test('a directory: for everyone whatever the umask, and never cleared once it was made', async (t) => {
  const { volumes, pathOf, preparePod } = real(t);
  await preparePod('u1');
  const umask = process.umask(0o077);
  t.teardown(() => process.umask(umask));
  await volumes.setUp(disk, quietCall);
  t.equal(mode(pathOf('work')), 0o777);
  writeFileSync(join(pathOf('work'), 'f'), 'x');
  chmodSync(pathOf('work'), 0o700);
  await volumes.setUp(disk, quietCall);
  t.equal(mode(pathOf('work')), 0o700, 'what a container did to it stays');
  t.ok(existsSync(join(pathOf('work'), 'f')));
});

t.test('what containers left is removed, however much and deep, and no link is followed', async (t) => {
  const { volumes, pathOf, preparePod, base } = real(t);
  await preparePod('u1');
  await volumes.setUp(disk, quietCall);
  writeFileSync(join(base, 'outside'), 'x');
  symlinkSync(base, join(pathOf('work'), 'link'));
  for (let i = 0; i < 600; i++) writeFileSync(join(pathOf('work'), `f${i}`), '');
  mkdirSync(join(pathOf('work'), '.removing-0'));
  let deep = pathOf('work');
  for (let i = 0; i < 150; i++) {
    deep = join(deep, 'd');
    mkdirSync(deep);
    writeFileSync(join(deep, 'f'), '');
  }
  await volumes.tearDown(disk, quietCall);
  t.notOk(existsSync(pathOf('work')));
  t.ok(existsSync(join(base, 'outside')));
});

t.test('a file system in memory: its size and mode, kept while it is mounted, gone when it is taken down', { skip: asRoot }, async (t) => {
  const { volumes, pathOf, preparePod, directories } = real(t);
  await preparePod('u1');
  const memory = { ...disk, mode: 0o3777, gid: 4711, tmpfs: { sizeBytes: 1024 * 1024 } };
  await volumes.setUp(memory, quietCall);
  const path = pathOf('work');
  t.match(mountLine(path), /^tmpfs \S+ tmpfs \S*\bsize=1024k\b/);
  t.strictSame([mode(path), statSync(path).gid], [0o3777, 4711]);
  writeFileSync(join(path, 'f'), 'x');
  await volumes.setUp(memory, quietCall);
  t.ok(existsSync(join(path, 'f')), 'not mounted over');
  t.equal(await kindOf(() => directories.remove({ uid: 'u1' }, quietCall)), 'failed-precondition', 'its pod stays while it is mounted');
  await native.mounts.unmount({ target: path, force: false }, quietCall);
  await volumes.setUp(memory, quietCall);
  t.ok(mountLine(path), 'mounted again after a reboot took it away');
  await native.mounts.mount({ source: 'tmpfs', target: path, fsType: 'tmpfs', options: [] }, quietCall);
  await volumes.tearDown(memory, quietCall);
  t.equal(mountLine(path), undefined, 'also what was mounted twice');
  t.notOk(existsSync(path));
  t.equal(await kindOf(() => directories.remove({ uid: 'u1' }, quietCall)), 'done');
});

const hasHugePages = readFileSync('/proc/filesystems', 'utf8').includes('hugetlbfs') && existsSync('/sys/kernel/mm/hugepages/hugepages-2048kB');
t.test('a file system of huge pages: its page size and mode, kept while it is mounted, never one of another size', { skip: asRoot || !hasHugePages }, async (t) => {
  const { volumes, pathOf, preparePod } = real(t);
  await preparePod('u1');
  const huge = { ...disk, mode: 0o2777, gid: 4711, hugePages: { pageSize: '2Mi' } };
  await volumes.setUp(huge, quietCall);
  const path = pathOf('work');
  t.match(mountLine(path), /^nodev \S+ hugetlbfs \S*\bpagesize=2M\b/);
  t.strictSame([mode(path), statSync(path).gid], [0o2777, 4711]);
  mkdirSync(join(path, 'made'));
  await volumes.setUp(huge, quietCall);
  t.ok(existsSync(join(path, 'made')), 'not mounted over');
  t.not(await kindOf(() => volumes.setUp({ ...huge, hugePages: { pageSize: '1Gi' } }, quietCall)), 'done', 'what is mounted has pages of another size');
  await volumes.tearDown(huge, quietCall);
  t.equal(mountLine(path), undefined);
  t.notOk(existsSync(path));
});

t.test('a volume that holds a mount of others stays as it is', { skip: asRoot }, async (t) => {
  const { volumes, pathOf, preparePod } = real(t);
  await preparePod('u1');
  await volumes.setUp(disk, quietCall);
  const inner = join(pathOf('work'), 'inner');
  mkdirSync(inner);
  writeFileSync(join(pathOf('work'), 'data'), 'x');
  await native.mounts.mount({ source: 'tmpfs', target: inner, fsType: 'tmpfs', options: [] }, quietCall);
  t.equal(await kindOf(() => volumes.tearDown(disk, quietCall)), 'failed-precondition');
  t.ok(existsSync(join(pathOf('work'), 'data')), 'nothing was removed');
  await native.mounts.unmount({ target: inner, force: false }, quietCall);
  t.equal(await kindOf(() => volumes.tearDown(disk, quietCall)), 'done');
});

t.test('the group of a payload: files, directories, then the volume itself', { skip: asRoot }, async (t) => {
  const { volumes, pathOf, preparePod } = real(t);
  await preparePod('u1');
  await volumes.setUp(disk, quietCall);
  const steps = [
    { operation: 'make-directory', path: 'g', mode: 0o755 },
    { operation: 'write-file', path: 'g/f', bytes: new Uint8Array([1]), mode: 0o400 },
    { operation: 'change-owner', path: 'g/f', uid: 77 },
    { operation: 'make-symlink', path: 'l', target: 'g/f' },
    { operation: 'apply-fs-group', gid: 4711, fileBits: 0o440, directoryBits: 0o2550 },
  ] as const;
  await volumes.write({ ...disk, steps, switchAt: -1, undo: [] }, quietCall);
  const path = pathOf('work');
  const file = statSync(join(path, 'g/f'));
  t.strictSame([file.mode & 0o7777, file.uid, file.gid], [0o440, 77, 4711]);
  t.strictSame([mode(join(path, 'g')), statSync(join(path, 'g')).gid], [0o2755, 4711]);
  t.strictSame([mode(path), statSync(path).gid], [0o2777, 4711]);
});

t.test('whole files are read, as far as they are within their volume', async (t) => {
  const { volumes, pathOf, preparePod, base } = real(t);
  await preparePod('u1');
  await volumes.setUp(disk, quietCall);
  const path = pathOf('work');
  writeFileSync(join(path, 'real'), 'within');
  writeFileSync(join(base, 'secret'), 'outside');
  writeFileSync(join(path, 'large'), Buffer.alloc(1024 * 1024 + 1));
  mkdirSync(join(path, 'sub'));
  symlinkSync('../real', join(path, 'sub/link'));
  symlinkSync(join(base, 'secret'), join(path, 'absolute'));
  symlinkSync('../../../../../../secret', join(path, 'out'));
  const rows: readonly (readonly [string, string | null])[] = [
    ['real', 'within'],
    ['sub/link', 'within'],
    ['absent', null],
    ['sub', null],
    ['large', null],
    ['absolute', null],
    ['out', null],
    ['../work/real', null],
    ['', null],
  ];
  const { contents } = await volumes.readFiles({ files: rows.map(([name]) => ({ ...disk, path: name })) }, quietCall);
  t.strictSame(
    contents.map((bytes, i) => [rows[i]?.[0], bytes === null ? null : Buffer.from(bytes).toString()]),
    rows.map((row) => [...row]),
  );
  t.strictSame(
    await volumes.readFiles({ files: [{ ...disk, volume: 'none', path: 'x' }] }, quietCall),
    { contents: [null] },
    'nor is there anything in a volume that is not there',
  );
  t.equal(await kindOf(() => volumes.readFiles({ files: [{ ...disk, volume: '..', path: 'x' }] }, quietCall)), 'invalid-argument');
});

t.test('swap is kept away where the kernel can', async (t) => {
  const all = '         0          0 4294967295\n';
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['6.4.0-1-amd64', all, true],
    ['6.12.3', all, true],
    ['7.0', all, true],
    ['6.3.9', all, false],
    ['5.15.0', all, false],
    ['6.8.0', '         0     100000      65536\n', false],
  ];
  for (const [release, map, expected] of rows) t.equal(knowsNoSwap(release, map), expected, release);
});
