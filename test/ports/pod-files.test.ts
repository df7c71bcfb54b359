// The ports of pod files: one contract on the model and on the real adapters, and cases of real file systems and kernels.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CgroupfsPodCgroups, type CgroupLayout, cgroupLayout, readCgroupLayout } from '../../src/adapters/linux/index.js';
import { addonNativeLinux, FallbackFileSteps, type FileStepRunner, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { loadBinding } from '../../src/adapters/native-linux/loader.js';
import { FilePodDirectories, FilePodLogs } from '../../src/adapters/storage/index.js';
import type { Call } from '../../src/ports/operation.js';
import { PortError } from '../../src/ports/port-error.js';
import type { HostOperationName } from '../../src/sim/host/host-ports.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { type CgroupValueName, files, hasControllers, kernelValue, simValue } from './kernel-cgroup-values.js';
import { type PodFilesUnderTest, podCgroupsContract, podDirectoriesContract, podLogsContract, quietCall } from './pod-files.contract.js';

const loaded = loadBinding(false);
const nativeOptions = { kernelLogPath: '/dev/kmsg', service: serviceEnvironmentOf({}) };

/** The asynchronous face of a model. */
function portOf<Port>(host: Pick<SimHost, 'handle'>, port: string): Port {
  const operation = (name: string) => async (request: never, call: Call) => {
    const op = `${port}.${name}` as HostOperationName;
    if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: '', operation: op, subject: '' });
    const { outcome } = host.handle(op, request, 0);
    if (!outcome.ok) throw new PortError(outcome.error);
    return outcome.value;
  };
  return new Proxy({}, { get: (_, name) => operation(String(name)) }) as Port;
}

function simulated(): PodFilesUnderTest {
  const host = new SimHost({ seed: 1 });
  return {
    directories: portOf(host, 'podDirectories'),
    logs: portOf(host, 'podLogs'),
    rootDirectory: host.settings.rootDirectory,
    podLogsDirectory: host.settings.podLogsDirectory,
    linksDirectory: host.settings.linksDirectory,
    writeLog: (path) => host.models.podLogs.writeLog(path),
    loseLog: (path) => host.models.podLogs.loseLog(path),
    leaveVolumeData: (uid, left) => host.models.podDirectories.leaveVolumeData(uid, 'volumes/kubernetes.io~empty-dir/data', left),
  };
}

interface RealFiles extends PodFilesUnderTest {
  readonly directories: FilePodDirectories;
  readonly logs: FilePodLogs;
  readonly base: string;
}

/** Who carries lists of steps out: the addon, if it is built, and plain Node. */
const runners: readonly (readonly [string, FileStepRunner])[] = [
  ...(loaded.kind === 'addon' ? [['the addon', addonNativeLinux(loaded.binding, nativeOptions).fileSteps] as const] : []),
  ['plain Node', new FallbackFileSteps()],
];

function real(t: Test, steps: FileStepRunner): RealFiles {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'pod-files-')));
  const [rootDirectory, podLogsDirectory, linksDirectory] = [join(base, 'root'), join(base, 'logs'), join(base, 'containers')];
  const directories = FilePodDirectories.open({ rootDirectory, podLogsDirectory, steps });
  const logs = FilePodLogs.open({ podLogsDirectory, linksDirectory, steps });
  t.teardown(() => {
    directories.close();
    logs.close();
    rmSync(base, { recursive: true });
  });
  const leaveVolumeData = (uid: string, left: boolean) => {
    const volume = join(rootDirectory, 'pods', uid, 'volumes/kubernetes.io~empty-dir/data');
    mkdirSync(volume, { recursive: true });
    if (left) writeFileSync(join(volume, 'f'), 'x');
    else rmSync(join(volume, 'f'));
  };
  return {
    base,
    directories,
    logs,
    rootDirectory,
    podLogsDirectory,
    linksDirectory,
    writeLog: (path) => writeFileSync(path, ''),
    loseLog: (path) => rmSync(path),
    leaveVolumeData,
  };
}

async function failure(work: Promise<unknown>): Promise<PortError> {
  return work.then(
    () => {
      throw new Error('did not fail');
    },
    (error: unknown) => {
      if (error instanceof PortError) return error;
      throw error;
    },
  );
}

const mode = (path: string): number => statSync(path).mode & 0o7777;
const isRoot = process.getuid?.() === 0;

t.test('the model', async (t) => {
  await t.test('directories', (t) => podDirectoriesContract(t, simulated()));
  await t.test('logs', (t) => podLogsContract(t, simulated()));
  await t.test('cgroups', (t) => {
    const host = new SimHost({ seed: 1 });
    const readValue = (name: readonly string[], value: CgroupValueName) => simValue(host.state.cgroupValues.get(name.join('/')), value);
    return podCgroupsContract(t, { cgroups: portOf(host, 'podCgroups'), podsCgroup: ['kubepods'], readValue, hasControllers: true });
  });
});

t.test('the model of a host: mounts, events, plain data', async (t) => {
  const host = new SimHost({ seed: 7, eventsMax: 2, latencies: { files: 5, cgroups: 9 } });
  host.handle('podDirectories.prepare', { uid: 'u' }, 0);
  host.models.podDirectories.mount('u', 'volumes/x', true);
  t.match(host.handle('podDirectories.remove', { uid: 'u' }, 1), {
    after: 5,
    outcome: { ok: false, error: { kind: 'failed-precondition', operation: 'podDirectories.remove', subject: 'u' } },
  });
  host.models.podDirectories.mount('u', 'volumes/x', false);
  t.strictSame(host.handle('podDirectories.remove', { uid: 'u' }, 2), { after: 5, outcome: { ok: true, value: null } });
  t.equal(host.handle('podCgroups.list', null, 2).after, 9);
  for (const reason of ['A', 'B', 'C']) host.handle('events.record', { involvedObject: {}, type: 'Normal', reason, message: '' }, 3);
  t.strictSame([host.state.events.map(({ record }) => record.reason), host.state.eventsLost], [['B', 'C'], 1]);
  t.strictSame(structuredClone(host.state), host.state, 'the state is plain data');
  t.ok(host.knows('podLogs.link') && !host.knows('images.pull'));
  const again = new SimHost({ seed: 7 });
  const files = { uid: 'u', containerName: 'c', podLogDirectory: 'd', wantsTerminationFile: true };
  t.strictSame(again.handle('podDirectories.prepareContainer', files, 0), new SimHost({ seed: 7, latencies: { files: 200 } }).handle('podDirectories.prepareContainer', files, 9));
});

for (const [who, steps] of runners) {
  t.test(`files by ${who}`, async (t) => {
    await t.test('directories', (t) => podDirectoriesContract(t, real(t, steps)));
    await t.test('logs', (t) => podLogsContract(t, real(t, steps)));
    await t.test('modes do not depend on the umask where containers need them', (t) => modes(t, steps));
    await t.test('the hosts file: replaced whole, left alone when equal, taken back from whoever changed it', (t) => hostsFile(t, steps));
    await t.test('links where directories should be lead nowhere', (t) => linksLeadNowhere(t, steps));
    await t.test('removal keeps what may be data, and refuses files among links', (t) => removalKeepsData(t, steps));
    await t.test('what is mounted is never removed', { skip: isRoot ? false : 'mounting needs root' }, (t) => mountedStays(t, steps));
  });
}

async function modes(t: Test, steps: FileStepRunner): Promise<void> {
  const { directories, logs, rootDirectory, podLogsDirectory } = real(t, steps);
  const before = process.umask(0o027);
  t.teardown(() => process.umask(before));
  await directories.prepare({ uid: 'u' }, quietCall);
  const { terminationFile } = await directories.prepareContainer({ uid: 'u', containerName: 'c', podLogDirectory: 'n_p_u', wantsTerminationFile: true }, quietCall);
  await directories.writeHosts({ uid: 'u', text: 'x\n' }, quietCall);
  process.umask(before);
  const pod = join(rootDirectory, 'pods/u');
  t.strictSame([pod, `${pod}/volumes`, `${pod}/plugins`, `${pod}/containers`, `${pod}/containers/c`].map(mode), [0o750, 0o750, 0o750, 0o750, 0o750]);
  t.equal(mode(terminationFile), 0o666);
  t.equal(mode(`${pod}/etc-hosts`), 0o644);
  t.strictSame(await logs.listDirectories(null, quietCall), ['n_p_u']);
  await directories.prepareContainer({ uid: 'u', containerName: 'c', podLogDirectory: 'n_q_u', wantsTerminationFile: false }, quietCall);
  t.strictSame([mode(`${podLogsDirectory}/n_q_u`), mode(`${podLogsDirectory}/n_q_u/c`)], [0o755, 0o755]);
}

async function hostsFile(t: Test, steps: FileStepRunner): Promise<void> {
  const { directories, rootDirectory, base } = real(t, steps);
  await directories.prepare({ uid: 'u' }, quietCall);
  const path = join(rootDirectory, 'pods/u/etc-hosts');
  const write = (text: string) => directories.writeHosts({ uid: 'u', text }, quietCall);
  await write('a é\n');
  const { ino } = statSync(path);
  await write('a é\n');
  t.equal(statSync(path).ino, ino, 'an equal file keeps its inode, which running containers hold');
  writeFileSync(path, 'b é\n');
  await write('a é\n');
  t.equal(readFileSync(path, 'utf8'), 'a é\n');
  chmodSync(path, 0o600);
  await write('a é\n');
  t.equal(mode(path), 0o644);
  rmSync(path);
  writeFileSync(join(base, 'victim'), 'mine');
  symlinkSync(join(base, 'victim'), path);
  writeFileSync(join(rootDirectory, 'pods/u/.etc-hosts.tmp'), 'left by a kill');
  await write('c\n');
  t.equal(readFileSync(join(base, 'victim'), 'utf8'), 'mine', 'a link in its place is replaced, not followed');
  t.strictSame([readFileSync(path, 'utf8'), readdirSync(join(rootDirectory, 'pods/u')).sort()], ['c\n', ['etc-hosts', 'plugins', 'volumes']]);
}

async function linksLeadNowhere(t: Test, steps: FileStepRunner): Promise<void> {
  const { directories, logs, rootDirectory, podLogsDirectory, linksDirectory, base } = real(t, steps);
  const outside = join(base, 'outside');
  mkdirSync(join(outside, 'app'), { recursive: true });
  writeFileSync(join(outside, 'app/0.log'), 'precious');
  symlinkSync(outside, join(rootDirectory, 'pods/evil'));
  symlinkSync(outside, join(podLogsDirectory, 'evil'));
  await directories.prepare({ uid: 'u' }, quietCall);
  symlinkSync(outside, join(rootDirectory, 'pods/u/containers'));
  const files = { uid: 'u', containerName: 'app', podLogDirectory: 'n_p_u', wantsTerminationFile: true };
  const target = join(podLogsDirectory, 'evil/app/0.log');
  const attempts: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['prepare', () => directories.prepare({ uid: 'evil' }, quietCall)],
    ['remove', () => directories.remove({ uid: 'evil' }, quietCall)],
    ['writeHosts', () => directories.writeHosts({ uid: 'evil', text: 'x' }, quietCall)],
    ['prepareContainer', () => directories.prepareContainer(files, quietCall)],
    ['prepareContainer in a log directory', () => directories.prepareContainer({ ...files, podLogDirectory: 'evil', wantsTerminationFile: false }, quietCall)],
    ['nextRestartCount', () => logs.nextRestartCount({ podLogDirectory: 'evil', containerName: 'app' }, quietCall)],
    ['link', () => logs.link({ link: join(linksDirectory, 'x.log'), target }, quietCall)],
    ['removeContainerLogs', () => logs.removeContainerLogs({ logPaths: [target], links: [] }, quietCall)],
    ['removeDirectory', () => logs.removeDirectory({ name: 'evil' }, quietCall)],
  ];
  for (const [what, attempt] of attempts) t.equal((await failure(attempt())).kind, 'permission-denied', what);
  t.strictSame(await directories.list(null, quietCall), ['u'], 'a link is no pod');
  t.strictSame(readdirSync(outside), ['app']);
  await directories.remove({ uid: 'u' }, quietCall);
  t.strictSame(readdirSync(join(outside, 'app')), ['0.log'], 'removal takes the link, not what it leads to');
  t.strictSame(await directories.list(null, quietCall), []);
}

async function removalKeepsData(t: Test, steps: FileStepRunner): Promise<void> {
  const { directories, logs, rootDirectory, podLogsDirectory, linksDirectory } = real(t, steps);
  const pod = join(rootDirectory, 'pods/u');
  const remove = () => directories.remove({ uid: 'u' }, quietCall);
  await directories.prepareContainer({ uid: 'u', containerName: 'c', podLogDirectory: 'd', wantsTerminationFile: true }, quietCall);
  for (const path of ['volumes/p/v/inner', 'volumes/kubernetes.io~csi/v/mount', 'volume-subpaths/v/c', 'plugins/p/v', 'volumeDevices/p'])
    mkdirSync(join(pod, path), { recursive: true });
  writeFileSync(join(pod, 'volume-subpaths/v/c/0'), '');
  writeFileSync(join(pod, 'plugins/p/v/ready'), '');
  symlinkSync('/dev/null', join(pod, 'volumeDevices/p/v'));
  t.match(await failure(remove()), { kind: 'failed-precondition', message: /volumes\/p\/v: it is not empty/ }, 'a directory made inside a volume is data too');
  t.ok(existsSync(join(pod, 'plugins/p/v/ready')), 'and then nothing else goes');
  rmdirSync(join(pod, 'volumes/p/v/inner'));
  mkdirSync(join(pod, 'volumes/kubernetes.io~csi/w'), { recursive: true });
  writeFileSync(join(pod, 'volumes/kubernetes.io~csi/w/vol_data.json'), '{}');
  t.match(await failure(remove()), { kind: 'failed-precondition', message: /vol_data|w is not a directory|data is left/ });
  rmSync(join(pod, 'volumes/kubernetes.io~csi/w/vol_data.json'));
  await remove();
  t.notOk(existsSync(pod));
  writeFileSync(join(linksDirectory, 'x.log'), 'a file');
  writeFileSync(join(podLogsDirectory, 'd/c/0.log'), '');
  const link = join(linksDirectory, 'x.log');
  t.equal((await failure(logs.link({ link, target: join(podLogsDirectory, 'd/c/0.log') }, quietCall))).kind, 'already-exists');
  t.equal((await failure(logs.removeContainerLogs({ logPaths: [], links: [link] }, quietCall))).kind, 'failed-precondition');
  t.equal(await logs.removeDeadLinks(null, quietCall), 0);
}

async function mountedStays(t: Test, steps: FileStepRunner): Promise<void> {
  const { directories, logs, rootDirectory, podLogsDirectory, base } = real(t, steps);
  const source = join(base, 'a source');
  mkdirSync(join(source, 'deep'), { recursive: true });
  writeFileSync(join(source, 'deep/precious'), '');
  const bound = async (target: string, work: () => Promise<unknown>) => {
    mkdirSync(target, { recursive: true });
    t.equal(spawnSync('mount', ['--bind', source, target]).status, 0);
    try {
      t.match(await failure(work()), { kind: 'failed-precondition', message: /still mounted/ }, target.slice(base.length));
    } finally {
      t.equal(spawnSync('umount', [target]).status, 0);
    }
    t.ok(existsSync(join(source, 'deep/precious')), 'nothing of it was removed');
  };
  await directories.prepare({ uid: 'u' }, quietCall);
  const pod = join(rootDirectory, 'pods/u');
  for (const path of ['volumes/p/v', 'plugins/with space', 'containers/c', '']) await bound(join(pod, path), () => directories.remove({ uid: 'u' }, quietCall));
  await bound(join(podLogsDirectory, 'd/c'), () => logs.removeDirectory({ name: 'd' }, quietCall));
  await directories.remove({ uid: 'u' }, quietCall);
  await logs.removeDirectory({ name: 'd' }, quietCall);
  t.strictSame([readdirSync(join(rootDirectory, 'pods')), readdirSync(podLogsDirectory)], [[], []]);
}

const cgroupRoot = `kubelet-ts-pod-cgroups-${process.pid}`;

/** Also what a failed run left. */
function removeCgroups(directory: string): void {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) if (entry.isDirectory()) removeCgroups(join(directory, entry.name));
  rmdirSync(directory);
}

const layout = readCgroupLayout('/proc/self/mountinfo');

/** On a hybrid host the empty v2 tree is a real one to try the v2 code on, without controllers. */
const unifiedMount = /^\d+ \d+ \S+ \/ (\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1];
const kernels: readonly (readonly [string, CgroupLayout, string | false])[] = [
  [`cgroup v${layout.version}`, layout, isRoot && layout.hierarchies.length > 0 ? false : 'needs root and cgroups'],
  [
    'the v2 tree',
    { version: 2, hierarchies: [{ mountPoint: unifiedMount ?? '', controllers: [] }], hybrid: null },
    isRoot && unifiedMount !== undefined ? false : 'needs root and a cgroup2 mount',
  ],
];

for (const [[what, layout, skip], [who, steps]] of kernels.flatMap((kernel) => runners.map((runner) => [kernel, runner] as const))) {
  t.test(`${what} of this host by ${who}`, { skip }, async (t) => {
    t.teardown(() => {
      for (const { mountPoint } of layout.hierarchies) removeCgroups(join(mountPoint, cgroupRoot));
      if (layout.hybrid !== null) removeCgroups(join(layout.hybrid, cgroupRoot));
    });
    const podsCgroup = [cgroupRoot, 'kubepods'];
    const cgroups = new CgroupfsPodCgroups({ podsCgroup, layout, steps, files });
    await podCgroupsContract(t, { cgroups, podsCgroup, readValue: (name, value) => kernelValue(layout, name, value), hasControllers: hasControllers(layout) });

    const name = [...podsCgroup, 'besteffort', 'pod77'];
    await cgroups.ensure({ name: [...name, 'sandbox'], values: null, rewrite: false }, quietCall);
    const trees = [...layout.hierarchies.map(({ mountPoint }) => mountPoint), ...(layout.hybrid === null ? [] : [layout.hybrid])];
    const directories = trees.map((mountPoint) => join(mountPoint, ...name, 'sandbox'));
    // As runc does on a hybrid host, independent of the agent.
    if (layout.hybrid !== null) mkdirSync(join(layout.hybrid, ...name, 'sandbox'), { recursive: true });
    const child = spawn('sh', ['-c', 'trap "" TERM; read line; sleep 60 & echo up; wait'], { stdio: ['pipe', 'pipe', 'ignore'] });
    const exited = once(child, 'exit');
    for (const directory of directories) writeFileSync(join(directory, 'cgroup.procs'), String(child.pid));
    child.stdin.write('\n');
    await once(child.stdout, 'data');
    const freezer = directories.map((directory) => join(directory, 'freezer.state')).find((path) => existsSync(path));
    if (freezer !== undefined) writeFileSync(freezer, 'FROZEN');
    try {
      await cgroups.destroy({ name }, quietCall);
      t.strictSame(await exited, [null, 'SIGKILL'], 'what ran inside was killed, frozen or not');
    } finally {
      if (freezer !== undefined && existsSync(freezer)) writeFileSync(freezer, 'THAWED');
      child.kill('SIGKILL');
      await exited;
    }
    t.equal(await cgroups.exists({ name }, quietCall), false);
    t.notOk(directories.some((directory) => existsSync(directory)));
    if (layout.hybrid !== null) {
      mkdirSync(join(layout.hybrid, ...name));
      t.match(await cgroups.list(null, quietCall), [{ uid: '77' }], 'what is left in the v2 tree alone is found');
      await cgroups.destroy({ name }, quietCall);
      t.notOk(existsSync(join(layout.hybrid, ...name)));
    }
  });
}

t.test('a tree like a v2 host’s: controllers are passed on, a pod without a needed one is no pod', async (t) => {
  const mountPoint = realpathSync(mkdtempSync(join(tmpdir(), 'cgroup2-')));
  t.teardown(() => rmSync(mountPoint, { recursive: true }));
  const has = (path: string, controllers: string, enabled: string) => {
    mkdirSync(join(mountPoint, path), { recursive: true });
    writeFileSync(join(mountPoint, path, 'cgroup.controllers'), `${controllers}\n`);
    writeFileSync(join(mountPoint, path, 'cgroup.subtree_control'), enabled);
  };
  const enabledIn = (path: string) => readFileSync(join(mountPoint, path, 'cgroup.subtree_control'), 'utf8').trim();
  const cgroups = new CgroupfsPodCgroups({ podsCgroup: ['kubepods'], files, layout: { version: 2, hierarchies: [{ mountPoint, controllers: [] }], hybrid: null } });
  has('', 'cpuset cpu io memory pids', 'cpuset cpu io memory pids');
  has('kubepods', 'cpuset cpu io memory pids', '');
  has('kubepods/burstable', 'cpuset cpu io memory pids', 'cpu');
  has('kubepods/burstable/podwhole', 'cpuset cpu memory pids', '');
  has('kubepods/burstable/podpart', 'cpu pids', '');
  t.equal(await cgroups.exists({ name: ['kubepods', 'burstable', 'podwhole'] }, quietCall), true, 'io is not needed');
  t.equal(await cgroups.exists({ name: ['kubepods', 'burstable', 'podpart'] }, quietCall), false);
  t.match(
    await failure(cgroups.ensure({ name: ['kubepods', 'burstable', 'podpart'], values: null, rewrite: false }, quietCall)),
    { kind: 'failed-precondition', message: 'cgroup ["kubepods" "burstable" "podpart"] has some missing controllers: cpuset, memory' },
    'a plain directory passes nothing on',
  );
  t.strictSame(
    [enabledIn(''), enabledIn('kubepods'), enabledIn('kubepods/burstable')],
    ['cpuset cpu io memory pids', '+cpuset +cpu +io +memory +pids', '+cpuset +io +memory +pids'],
  );
  t.strictSame(
    (await cgroups.list(null, quietCall)).map(({ uid }) => uid),
    ['part', 'whole'],
  );
  t.match(await failure(cgroups.ensure({ name: ['kubepods', 'podnew'], values: null, rewrite: false }, quietCall)), { kind: 'failed-precondition' });
  t.notOk(existsSync(join(mountPoint, 'kubepods/podnew')), 'a failed one is taken away again');
});

t.test('layouts from mountinfo', async (t) => {
  const v1 = (mount: string, options: string) => `31 23 0:28 / ${mount} rw,relatime shared:9 - cgroup cgroup rw,${options}`;
  const table: readonly (readonly [string, readonly string[], CgroupLayout])[] = [
    ['v2', ['30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate'], { version: 2, hierarchies: [{ mountPoint: '/sys/fs/cgroup', controllers: [] }], hybrid: null }],
    [
      'hybrid, with a second mount of one tree and somebody’s own tree',
      [
        '28 23 0:25 / /sys/fs/cgroup ro - tmpfs tmpfs ro',
        '29 28 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
        v1('/sys/fs/cgroup/cpu,cpuacct', 'cpu,cpuacct'),
        v1('/sys/fs/cgroup/systemd', 'xattr,name=systemd'),
        v1('/run/elsewhere/cgroup/memory', 'memory'),
        v1('/sys/fs/cgroup/memory', 'memory'),
        v1('/sys/fs/cgroup/elogind', 'name=elogind'),
        'rubbish',
        '',
      ],
      {
        version: 1,
        hierarchies: [
          { mountPoint: '/sys/fs/cgroup/cpu,cpuacct', controllers: ['cpu', 'cpuacct'] },
          { mountPoint: '/sys/fs/cgroup/memory', controllers: ['memory'] },
          { mountPoint: '/sys/fs/cgroup/systemd', controllers: ['systemd'] },
        ],
        hybrid: '/sys/fs/cgroup/unified',
      },
    ],
    [
      'v1 mounted over v2',
      ['30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw', '31 23 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw'],
      { version: 1, hierarchies: [], hybrid: null },
    ],
  ];
  for (const [what, lines, wanted] of table) t.strictSame(cgroupLayout(lines.join('\n')), wanted, what);
});
