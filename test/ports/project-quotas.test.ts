// Project quotas: the contract on the model, on files with a model of the kernel, without the addon, on this host's temporary directory, and
// with the projects of a real XFS, where a walk replaces the kernel's accounting if this kernel lacks it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fallbackDirectoryProjects } from '../../src/adapters/native-linux/directory-projects.js';
import { type DirectoryProjects, openNativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import type { FilePodDirectories, FilePodVolumes } from '../../src/adapters/storage/index.js';
import { FileProjectQuotas } from '../../src/adapters/storage/index.js';
import { podVolumeDirectory } from '../../src/domain/values/pod-directories.js';
import type { QuotaPlace } from '../../src/ports/outbound/project-quotas.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { FakeProjects, walked } from '../adapters/fake-projects.js';
import { quietCall } from './pod-volumes.contract.js';
import { noProjectQuotasContract, type ProjectQuotasUnderTest, projectQuotasContract, quotaPlace } from './project-quotas.contract.js';
import { portOf } from './sim-port.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);

function model(isSupported: boolean): ProjectQuotasUnderTest {
  const host = new SimHost({ seed: 1 });
  host.state.projectQuotas.isSupported = isSupported;
  const directories = portOf<FilePodDirectories>(host, 'podDirectories');
  const volumes = portOf<FilePodVolumes>(host, 'podVolumes');
  return {
    quotas: portOf(host, 'projectQuotas'),
    prepare: async (place) => {
      await directories.prepare({ uid: place.uid }, quietCall);
      await volumes.setUp({ ...place, marker: place.volume, mode: 0o777, gid: null, tmpfs: null, hugePages: null }, quietCall);
    },
    write: ({ uid, volume }, bytes) => host.state.usage.pods.set(uid, { memoryBytes: 0, rootfsBytes: 0, volumes: { [volume]: bytes } }),
    remove: async (place) => {
      await volumes.tearDown({ ...place, marker: place.volume }, quietCall);
    },
  };
}

function inDirectory(t: Test, base: string, kernel: DirectoryProjects): ProjectQuotasUnderTest {
  const rootDirectory = join(base, 'root');
  const filesDirectory = t.testdir({});
  const pathOf = ({ uid, plugin, volume }: QuotaPlace) => podVolumeDirectory(rootDirectory, uid, plugin, volume);
  return {
    quotas: new FileProjectQuotas({ rootDirectory, filesDirectory }, kernel, native.fileLock),
    prepare: async (place) => {
      mkdirSync(pathOf(place), { recursive: true });
    },
    write: (place, bytes) => writeFileSync(join(pathOf(place), 'file'), Buffer.alloc(bytes, 1)),
    remove: async (place) => rmSync(pathOf(place), { recursive: true }),
  };
}

function temporary(t: Test): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'quotas-')));
  t.teardown(() => rmSync(base, { recursive: true }));
  return base;
}

t.test('the model', (t) => projectQuotasContract(t, model(true)));
t.test('the model of a file system without quotas', (t) => noProjectQuotasContract(t, model(false)));
t.test('files, and a model of the kernel', (t) => projectQuotasContract(t, inDirectory(t, temporary(t), new FakeProjects())));
t.test('a kernel that doesn’t count', (t) => {
  const kernel = new FakeProjects();
  kernel.unsupported = 'the test says that nobody counts';
  return noProjectQuotasContract(t, inDirectory(t, temporary(t), kernel));
});
t.test('without the addon', async (t) => {
  const { quotas, prepare } = inDirectory(t, temporary(t), fallbackDirectoryProjects);
  await prepare(quotaPlace('u1', 'a'));
  t.strictSame(await quotas.assign(quotaPlace('u1', 'a'), quietCall), { kind: 'unsupported', reason: 'project quotas need the native addon' });
  t.equal(await quotas.usage(quotaPlace('u1', 'a'), quietCall), null);
  t.equal(await quotas.clear(quotaPlace('u1', 'a'), quietCall), null);
});

const hasTools = (...tools: readonly string[]) => tools.every((tool) => ['/usr/sbin', '/sbin', '/usr/bin', '/bin'].some((directory) => exists(join(directory, tool))));
const skip =
  process.getuid?.() === 0 && native.kind === 'addon' && exists('/dev/loop-control') && hasTools('mkfs.xfs', 'lsattr')
    ? false
    : 'it takes root, loop devices, the addon and xfsprogs';

function exists(path: string): boolean {
  try {
    realpathSync(path);
    return true;
  } catch {
    return false;
  }
}

/** An XFS of this test's alone, which counts projects if the kernel can. */
function xfs(t: Test): string {
  const base = temporary(t);
  const [image, mounted] = [join(base, 'image'), join(base, 'mounted')];
  writeFileSync(image, '');
  truncateSync(image, 400 * 1024 * 1024);
  execFileSync('mkfs.xfs', ['-q', image]);
  mkdirSync(mounted);
  // A kernel that was built without quotas refuses the option.
  if (spawnSync('mount', ['-o', 'loop,prjquota', image, mounted]).status !== 0) execFileSync('mount', ['-o', 'loop', image, mounted]);
  t.teardown(() => execFileSync('umount', [mounted]));
  return mounted;
}

/** The kernel's projects; where it can't count, its counting by a walk. */
function countedByWalks(kernel: DirectoryProjects): DirectoryProjects {
  const limits = new Map<number, bigint>();
  return {
    look: async (path) => {
      const seen = await kernel.look(path);
      return seen === null || seen.count.kind === 'counted' ? seen : { ...seen, count: { kind: 'counted', ...walked(path) } };
    },
    isInUse: async (_path, projectId) => limits.has(projectId),
    assign: (path, projectId, tree) => kernel.assign(path, projectId, tree),
    limit: async (_path, projectId, kibibytes) => void (kibibytes === 0n ? limits.delete(projectId) : limits.set(projectId, kibibytes)),
  };
}

const countsProjects = async (base: string) => (await native.projects.look(base))?.count.kind === 'counted';

t.test('an XFS, and this kernel', { skip }, async (t) => {
  const base = xfs(t);
  const kernel = (await countsProjects(base)) ? native.projects : countedByWalks(native.projects);
  t.comment(kernel === native.projects ? 'the kernel counts' : 'this kernel doesn’t count projects: walks do');
  await projectQuotasContract(t, inDirectory(t, base, kernel));
});

t.test('a directory’s project is seen by others, inherited, given to what is there, and taken away', { skip }, async (t) => {
  const base = xfs(t);
  const { projects } = native;
  const directory = join(base, 'volume');
  mkdirSync(join(directory, 'early/deep'), { recursive: true });
  writeFileSync(join(directory, 'early/file'), '');
  execFileSync('mkfifo', [join(directory, 'early/pipe')]);
  execFileSync('ln', ['-s', '/etc/passwd', join(directory, 'early/link')]);
  t.match(await projects.look(directory), { projectId: 0, inherits: false });
  t.equal(await projects.assign(directory, 1_048_600, true), 0);
  writeFileSync(join(directory, 'late'), '');
  mkdirSync(join(directory, 'early/deep/later'));
  const seen = (path: string) => {
    const [project = '', flags = ''] = execFileSync('lsattr', ['-dp', join(directory, path)], { encoding: 'utf8' })
      .trim()
      .split(/\s+/);
    return `${project}${flags.includes('P') ? ' inherited' : ''}`;
  };
  for (const path of ['', 'early', 'early/deep', 'early/deep/later']) t.equal(seen(path), '1048600 inherited', path);
  for (const path of ['early/file', 'late']) t.equal(seen(path), '1048600', path);
  t.match(await projects.look(directory), { projectId: 1_048_600, inherits: true });
  t.equal(await projects.assign(directory, 0, false), 0);
  t.equal(seen(''), '0');
  t.match(await projects.look(directory), { projectId: 0, inherits: false });
  t.equal(await projects.look(join(directory, 'none')), null);
  t.equal(await projects.look(join(directory, 'early/link')), null);
  await t.rejects(projects.assign(join(directory, 'none'), 5, true), { name: 'PortError', kind: 'not-found' });
});

t.test('a file system without projects says so', { skip: native.kind === 'addon' ? false : 'it takes the addon' }, async (t) => {
  const seen = await native.projects.look('/proc');
  t.match(seen, { projectId: 0, inherits: false, count: { kind: 'unsupported', reason: '/proc is neither on ext4 nor on XFS' } });
});
