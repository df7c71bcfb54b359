// Projects of volumes on files: numbers that others have, what is undone when a step fails, what a killed agent left, the lock, files that are no files;
// and what the kernel's error numbers mean.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openNativeLinux, quotaRefusal, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { NativeDirectoryProjects } from '../../src/adapters/native-linux/native-directory-projects.js';
import { FileProjectQuotas } from '../../src/adapters/storage/index.js';
import { podVolumeDirectory } from '../../src/domain/values/pod-directories.js';
import { kindOf, quietCall } from '../ports/pod-volumes.contract.js';
import { quotaPlace } from '../ports/project-quotas.contract.js';
import { FakeProjects } from './fake-projects.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
const [a, b] = [quotaPlace('u1', 'a'), quotaPlace('u1', 'b')];

function scene(t: Test, files: Readonly<Record<string, string>> = {}) {
  const base = t.testdir({ etc: { ...files }, root: {} });
  const [rootDirectory, filesDirectory] = [join(base, 'root'), join(base, 'etc')];
  const kernel = new FakeProjects();
  const open = () => new FileProjectQuotas({ rootDirectory, filesDirectory, lockPatienceMillis: 100 }, kernel, native.fileLock);
  const pathOf = ({ uid, plugin, volume }: typeof a) => podVolumeDirectory(rootDirectory, uid, plugin, volume);
  for (const place of [a, b]) mkdirSync(pathOf(place), { recursive: true });
  const text = (name: string) => (existsSync(join(filesDirectory, name)) ? readFileSync(join(filesDirectory, name), 'utf8') : null);
  return { filesDirectory, kernel, open, pathOf, text, texts: () => [text('projects'), text('projid')] };
}

const theirs = { projects: '# theirs\n1048577:/srv/a\n42:/srv/b\n', projid: '# names\nweb:42\nother:1048578\n' };

t.test('numbers that others have recorded, use or limit are passed over, and their lines stay', async (t) => {
  const { kernel, open, pathOf, texts } = scene(t, theirs);
  kernel.used.add(1_048_579);
  kernel.limits.set(1_048_580, 5n);
  const quotas = open();
  t.strictSame(await quotas.assign(a, quietCall), { kind: 'assigned', projectId: 1_048_581 });
  t.strictSame(texts(), [`${theirs.projects}1048581:${pathOf(a)}\n`, `${theirs.projid}volume1048581:1048581\n`]);
  t.equal(kernel.projectOf(pathOf(a)), 1_048_581);
  t.equal(kernel.limits.get(1_048_581), 2n ** 48n - 1n);
  await quotas.clear(a, quietCall);
  t.strictSame(texts(), [theirs.projects, theirs.projid]);
  t.equal(kernel.projectOf(pathOf(a)), 0);
  t.notOk(kernel.limits.has(1_048_581));
});

t.test('the mode of the files stays; new ones are for everyone to read', async (t) => {
  const { filesDirectory, open } = scene(t, { projects: '' });
  const mode = (name: string) => statSync(join(filesDirectory, name)).mode & 0o777;
  const before = mode('projects');
  await open().assign(a, quietCall);
  t.strictSame([mode('projects'), mode('projid')], [before, 0o644]);
  t.strictSame(readdirSync(filesDirectory).sort(), ['projects', 'projid']);
});

t.test('a directory of somebody else’s project stays as it is', async (t) => {
  const { kernel, open, pathOf, texts } = scene(t);
  kernel.setProject(pathOf(a), 42);
  t.strictSame(await open().assign(a, quietCall), { kind: 'unsupported', reason: `${pathOf(a)} belongs to the project 42 already` });
  t.equal(kernel.projectOf(pathOf(a)), 42);
  t.strictSame(texts(), [null, null]);
  await open().clear(a, quietCall);
  t.equal(kernel.projectOf(pathOf(a)), 42);
});

t.test('a directory that people have recorded for a project of theirs', async (t) => {
  const { filesDirectory, kernel, open, pathOf, text } = scene(t);
  writeFileSync(join(filesDirectory, 'projects'), `42:${pathOf(a)}\n`);
  t.equal(await kindOf(() => open().assign(a, quietCall)), 'failed-precondition');
  await open().clear(a, quietCall);
  t.equal(text('projects'), `42:${pathOf(a)}\n`);
  t.strictSame(
    kernel.calls.filter((call) => call.startsWith('assign')),
    [],
  );
});

for (const step of ['isInUse', 'limit', 'assign'] as const) {
  t.test(`nothing is left of an assignment whose ${step} fails`, async (t) => {
    const { kernel, open, pathOf, texts } = scene(t, theirs);
    kernel.failing.set(step, 'permission-denied');
    const quotas = open();
    t.equal(await kindOf(() => quotas.assign(a, quietCall)), 'permission-denied');
    t.strictSame(texts(), [theirs.projects, theirs.projid]);
    t.equal(await quotas.usage(a, quietCall), null);
    kernel.failing.clear();
    t.match(await quotas.assign(a, quietCall), { kind: 'assigned' });
    t.equal(kernel.projectOf(pathOf(a)) > 1_048_578, true);
  });
}

t.test('a tree that can’t be given the project as a whole is not', async (t) => {
  const { kernel, open, pathOf, texts } = scene(t, theirs);
  kernel.unchangeable = 2;
  await t.rejects(open().assign(a, quietCall), { name: 'PortError', kind: 'failed-precondition', message: `${pathOf(a)}: 2 files can't be given the project 1048579` });
  t.strictSame(texts(), [theirs.projects, theirs.projid]);
  t.equal(kernel.projectOf(pathOf(a)), 0);
});

t.test('taking away runs every step, and says what failed', async (t) => {
  const { kernel, open, texts } = scene(t, theirs);
  const quotas = open();
  await quotas.assign(a, quietCall);
  kernel.failing.set('limit', 'permission-denied');
  kernel.failing.set('assign', 'permission-denied');
  t.equal(await kindOf(() => quotas.clear(a, quietCall)), 'permission-denied');
  t.strictSame(texts(), [theirs.projects, theirs.projid]);
});

t.test('129 numbers that are in use are looked at, no more', async (t) => {
  const { kernel, open } = scene(t);
  for (let used = 0; used < 129; used++) kernel.used.add(1_048_577 + used);
  await t.rejects(open().assign(a, quietCall), { name: 'PortError', kind: 'resource-exhausted', message: 'cannot find available quota ID' });
  kernel.used.delete(1_048_577 + 128);
  t.match(await open().assign(a, quietCall), { projectId: 1_048_577 + 128 });
});

t.test('another process knows what the one before recorded', async (t) => {
  const { kernel, open, pathOf, texts } = scene(t);
  await open().assign(a, quietCall);
  const recorded = texts();
  const next = open();
  t.match(await next.usage(a, quietCall), { inodesUsed: 1 });
  t.match(await next.assign(a, quietCall), { projectId: 1_048_577 });
  t.strictSame(texts(), recorded);
  // Killed before the directory was given its project.
  kernel.setProject(pathOf(a), 0);
  t.equal(await open().usage(a, quietCall), null);
  t.match(await open().assign(a, quietCall), { projectId: 1_048_577 });
  t.match(await open().usage(a, quietCall), { inodesUsed: 1 });
  await open().clear(a, quietCall);
  t.strictSame(texts(), ['', '']);
});

t.test('what a killed agent recorded of directories that are gone goes with the next one’s first record; what lies elsewhere stays', async (t) => {
  const { filesDirectory, kernel, open, pathOf, text } = scene(t);
  await open().assign(a, quietCall);
  await open().assign(b, quietCall);
  writeFileSync(join(filesDirectory, 'projects'), `${text('projects')}1048999:/gone/but/not/ours\n`);
  rmSync(pathOf(a), { recursive: true });
  const next = open();
  t.match(await next.assign(b, quietCall), { projectId: 1_048_578 });
  t.strictSame(text('projects'), `1048578:${pathOf(b)}\n1048999:/gone/but/not/ours\n`);
  t.notOk(kernel.limits.has(1_048_577));
});

t.test('what could not be freed is with the next record', async (t) => {
  const { filesDirectory, kernel, open, pathOf, texts } = scene(t);
  const quotas = open();
  await quotas.assign(a, quietCall);
  const kept = texts();
  rmSync(join(filesDirectory, 'projid'));
  mkdirSync(join(filesDirectory, 'projid'));
  t.equal(await kindOf(() => quotas.clear(a, quietCall)), 'failed-precondition');
  rmSync(join(filesDirectory, 'projid'), { recursive: true });
  writeFileSync(join(filesDirectory, 'projid'), kept[1] ?? '');
  t.strictSame(texts(), kept);
  rmSync(pathOf(a), { recursive: true });
  t.match(await quotas.assign(b, quietCall), { projectId: 1_048_577 });
  t.strictSame(texts(), [`1048577:${pathOf(b)}\n`, 'volume1048577:1048577\n']);
  t.strictSame([...kernel.limits.keys()], [1_048_577]);
});

t.test('what people do to the files meanwhile is respected', async (t) => {
  const { filesDirectory, open, text } = scene(t);
  const quotas = open();
  await quotas.assign(a, quietCall);
  // An editor replaces the file.
  rmSync(join(filesDirectory, 'projects'));
  writeFileSync(join(filesDirectory, 'projects'), '1048578:/new\n');
  t.match(await quotas.assign(b, quietCall), { projectId: 1_048_579 });
  t.match(text('projects'), /^1048578:\/new\n1048579:/);
});

t.test('many at once are written together, and each has its number', async (t) => {
  const { kernel, open, pathOf, text } = scene(t);
  const places = Array.from({ length: 40 }, (_, i) => quotaPlace('many', `v${i}`));
  for (const place of places) mkdirSync(pathOf(place), { recursive: true });
  const quotas = open();
  const numbers = await Promise.all(places.map((place) => quotas.assign(place, quietCall).then((answer) => (answer.kind === 'assigned' ? answer.projectId : 0))));
  t.equal(new Set(numbers).size, 40);
  t.equal(Math.max(...numbers), 1_048_577 + 39);
  for (const [i, place] of places.entries()) t.equal(kernel.projectOf(pathOf(place)), numbers[i]);
  await Promise.all(places.map((place) => quotas.clear(place, quietCall)));
  t.equal(text('projects'), '');
});

for (const name of ['projects', 'projid']) {
  t.test(`${name} is no plain file`, async (t) => {
    const { filesDirectory, open, pathOf, kernel } = scene(t);
    writeFileSync(join(filesDirectory, 'target'), 'secret');
    symlinkSync(join(filesDirectory, 'target'), join(filesDirectory, name));
    const path = join(filesDirectory, name);
    await t.rejects(open().assign(a, quietCall), { name: 'PortError', kind: 'failed-precondition', message: `${path} exists but is not a plain file, cannot continue` });
    t.equal(readFileSync(join(filesDirectory, 'target'), 'utf8'), 'secret');
    t.equal(kernel.projectOf(pathOf(a)), 0);
  });
}

t.test('another process’s lock is waited for, for so long', async (t) => {
  const { filesDirectory, open, texts } = scene(t, theirs);
  const holder = spawn('flock', ['-x', join(filesDirectory, 'projid'), 'sh', '-c', 'echo held; read line'], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  await t.rejects(open().assign(a, quietCall), { name: 'PortError', kind: 'unavailable', message: `${join(filesDirectory, 'projid')} is locked by another process` });
  t.strictSame(texts(), [theirs.projects, theirs.projid]);
  const ended = once(holder, 'exit');
  holder.stdin.end('\n');
  await ended;
  t.match(await open().assign(a, quietCall), { kind: 'assigned' });
});

const { ENOSYS, ESRCH, EINVAL, EOPNOTSUPP, ENOTTY, ENODEV, EPERM, EIO, ENOENT, EACCES } = constants.errno;
const answers: readonly (readonly [string, number, RegExp | string])[] = [
  ['a kernel without quotas', ENOSYS, /this kernel counts no quotas/],
  ['a file system that was mounted without', ESRCH, /not turned on \(mount option prjquota\)/],
  ['one that has only users’ quotas', EINVAL, /it has no project quotas/],
  ['one without projects', EOPNOTSUPP, /it has no projects/],
  ['one that doesn’t know the question', ENOTTY, /it has no projects/],
  ['no device', ENODEV, /on no block device/],
  ['no block device', 15, /on no block device/],
  ['no right to ask', EPERM, 'permission-denied'],
  ['a broken disk', EIO, 'unavailable'],
];

for (const [sentence, number, expected] of answers) {
  t.test(`the kernel’s answer ${number}: ${sentence}`, async (t) => {
    const binding = { projectUsage: async () => new BigUint64Array([0x58465342n, 0n, 0n, BigInt(number), 0n, 0n]) };
    const projects = new NativeDirectoryProjects(binding as never);
    if (typeof expected === 'string') {
      t.equal(quotaRefusal(number), null);
      await t.rejects(projects.look('/d'), { name: 'PortError', kind: expected });
      return;
    }
    t.match(quotaRefusal(number), expected);
    const seen = await projects.look('/d');
    t.match(seen?.count.kind === 'unsupported' ? seen.count.reason : '', /^\/d is on XFS: /);
  });
}

t.test('a limit that isn’t there needs no taking away; one that can’t be set is told', async (t) => {
  const projects = (status: number) => new NativeDirectoryProjects({ projectLimit: async () => status } as never);
  for (const status of [0, -ENOSYS, -ESRCH]) await projects(status).limit('/d', 1, 0n);
  for (const [status, kind] of [
    [-EPERM, 'permission-denied'],
    [-EACCES, 'permission-denied'],
  ] as const)
    await t.rejects(projects(status).limit('/d', 1, 0n), { name: 'PortError', kind });
  await t.rejects(projects(-ESRCH).limit('/d', 1, 7n), { name: 'PortError', kind: 'not-found' });
  await t.rejects(projects(-ENOSYS).limit('/d', 1, 7n), { name: 'PortError', kind: 'unimplemented' });
});

t.test('what the kernel counts is what is told', async (t) => {
  const projects = new NativeDirectoryProjects({
    projectUsage: async (path: string) => (path === '/none' ? -ENOENT : new BigUint64Array([path === '/tmpfs' ? 0x01021994n : 0xef53n, 1_048_577n, 1n, 0n, 4096n, 3n])),
    projectQuota: async (_path: string, projectId: number) =>
      projectId === 9 ? -EPERM : new BigUint64Array([projectId === 1 ? 1n : 0n, projectId === 2 ? 1n : 0n, projectId === 3 ? 1n : 0n]),
  } as never);
  t.strictSame(await projects.look('/d'), { projectId: 1_048_577, inherits: true, count: { kind: 'counted', usedBytes: 4096, inodesUsed: 3 } });
  t.equal(await projects.look('/none'), null);
  t.match(await projects.look('/tmpfs'), { count: { kind: 'unsupported', reason: '/tmpfs is neither on ext4 nor on XFS' } });
  for (const [projectId, inUse] of [
    [1, true],
    [2, true],
    [3, true],
    [4, false],
  ] as const)
    t.equal(await projects.isInUse('/d', projectId), inUse);
  await t.rejects(projects.isInUse('/d', 9), { name: 'PortError', kind: 'permission-denied' });
});
