// The contract of the pod files' ports: the model, and the real ones on a file system and on the kernel's cgroups.
import type { Test } from 'tap';
import { emptyCgroupConfig } from '../../src/domain/cgroups/cgroup-config.js';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { PodCgroupOperations, PodDirectoryOperations, PodLogOperations } from '../../src/ports/outbound/pod-files.js';
import { PortError, type PortErrorKind } from '../../src/ports/port-error.js';
import type { CgroupValueName } from './kernel-cgroup-values.js';

export const quietCall: Call = { signal: { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }, timeoutMicros: null };
const abortedCall: Call = { ...quietCall, signal: { ...quietCall.signal, aborted: true } };

export interface PodFilesUnderTest {
  readonly directories: PortOf<PodDirectoryOperations>;
  readonly logs: PortOf<PodLogOperations>;
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  readonly linksDirectory: string;
  /** What the runtime does: a log file is there, or gone. Its directory exists. */
  writeLog(path: string): void;
  loseLog(path: string): void;
  /** `volumes/<plugin>/<volume>` of a pod holds data, or no longer. */
  leaveVolumeData(uid: string, left: boolean): void;
}

async function kindOf(work: () => Promise<unknown>): Promise<PortErrorKind | 'done'> {
  try {
    await work();
    return 'done';
  } catch (error) {
    if (error instanceof PortError) return error.kind;
    throw error;
  }
}

/** Never a name of one entry in a directory. */
const badNames = ['', '.', '..', '../x', 'a/b', '/etc', 'a\0b', '/', 'x'.repeat(300)];

export async function podDirectoriesContract(t: Test, host: PodFilesUnderTest): Promise<void> {
  const { directories, rootDirectory } = host;
  const files = { uid: 'u1', containerName: 'app', podLogDirectory: 'ns_web_u1', wantsTerminationFile: true };

  t.strictSame(await directories.list(null, quietCall), [], 'no pods at first');
  t.equal(await directories.prepare({ uid: 'u1' }, quietCall), null);
  t.equal(await directories.prepare({ uid: 'u1' }, quietCall), null, 'twice is once');
  await directories.prepare({ uid: 'u0' }, quietCall);
  t.strictSame(await directories.list(null, quietCall), ['u0', 'u1'], 'both, sorted');

  t.strictSame(await directories.readUserNamespaces(null, quietCall), [], 'no pod has a user namespace of its own');
  t.equal(await directories.writeUserNamespace({ uid: 'u1', text: '{"uidMappings":[]}' }, quietCall), null);
  t.equal(await directories.writeUserNamespace({ uid: 'u1', text: '{}' }, quietCall), null, 'again with other content');
  t.equal(await directories.writeUserNamespace({ uid: 'u0', text: '[]' }, quietCall), null);
  const found = [
    { uid: 'u0', text: '[]', problem: '' },
    { uid: 'u1', text: '{}', problem: '' },
  ];
  t.strictSame(await directories.readUserNamespaces(null, quietCall), found, 'both, sorted');
  for (const uid of badNames) t.equal(await kindOf(() => directories.writeUserNamespace({ uid, text: '{}' }, quietCall)), 'invalid-argument', 'never outside of the pods');
  t.equal(await kindOf(() => directories.readUserNamespaces(null, abortedCall)), 'cancelled');

  const first = await directories.prepareContainer(files, quietCall);
  const second = await directories.prepareContainer(files, quietCall);
  t.match(first.terminationFile, new RegExp(`^${rootDirectory}/pods/u1/containers/app/[0-9a-f]{8}$`));
  t.not(first.terminationFile, second.terminationFile, 'each attempt has a file of its own');
  t.strictSame(await directories.prepareContainer({ ...files, containerName: 'side', wantsTerminationFile: false }, quietCall), { terminationFile: '' });
  t.strictSame(await host.logs.listDirectories(null, quietCall), ['ns_web_u1'], 'the log directory is made with it');

  t.equal(await directories.writeHosts({ uid: 'u1', text: '127.0.0.1 localhost\n' }, quietCall), null);
  t.equal(await directories.writeHosts({ uid: 'u1', text: '127.0.0.1 localhost web\n' }, quietCall), null, 'again with other content');
  t.equal(await kindOf(() => directories.writeHosts({ uid: 'nobody', text: '' }, quietCall)), 'not-found');

  host.leaveVolumeData('u1', true);
  t.equal(await kindOf(() => directories.remove({ uid: 'u1' }, quietCall)), 'failed-precondition', 'data in a volume is kept');
  t.ok((await directories.list(null, quietCall)).includes('u1'));
  host.leaveVolumeData('u1', false);
  t.equal(await directories.remove({ uid: 'u1' }, quietCall), null);
  t.equal(await directories.remove({ uid: 'u1' }, quietCall), null, 'absent is removed');
  t.strictSame(await directories.list(null, quietCall), ['u0']);

  for (const name of badNames) {
    const shown = JSON.stringify(name.slice(0, 20));
    t.equal(await kindOf(() => directories.prepare({ uid: name }, quietCall)), 'invalid-argument', `prepare ${shown}`);
    t.equal(await kindOf(() => directories.remove({ uid: name }, quietCall)), 'invalid-argument', `remove ${shown}`);
    t.equal(await kindOf(() => directories.writeHosts({ uid: name, text: '' }, quietCall)), 'invalid-argument', `writeHosts ${shown}`);
    for (const field of ['uid', 'containerName', 'podLogDirectory'] as const) {
      t.equal(await kindOf(() => directories.prepareContainer({ ...files, [field]: name }, quietCall)), 'invalid-argument', `prepareContainer ${field} ${shown}`);
    }
  }
  t.strictSame(await directories.list(null, quietCall), ['u0'], 'nothing was made of them');
  t.equal(await kindOf(() => directories.prepare({ uid: 'late' }, abortedCall)), 'cancelled');
  t.strictSame(await directories.list(null, quietCall), ['u0'], 'a cancelled call does nothing');
}

export async function podLogsContract(t: Test, host: PodFilesUnderTest): Promise<void> {
  const { directories, logs, podLogsDirectory, linksDirectory } = host;
  const directory = `${podLogsDirectory}/ns_web_u2/app`;
  const counted = { podLogDirectory: 'ns_web_u2', containerName: 'app' };
  const link = `${linksDirectory}/web_ns_app-0123456789.log`;

  t.equal(await logs.nextRestartCount(counted, quietCall), 0, 'no directory');
  await directories.prepareContainer({ ...counted, uid: 'u2', wantsTerminationFile: false }, quietCall);
  t.equal(await logs.nextRestartCount(counted, quietCall), 0, 'an empty one');
  for (const name of ['0.log', '1.log', '1.log.20260101-000000.gz', '10.log', 'notes.txt']) host.writeLog(`${directory}/${name}`);
  t.equal(await logs.nextRestartCount(counted, quietCall), 11);

  t.equal(await kindOf(() => logs.link({ link, target: `${directory}/7.log` }, quietCall)), 'not-found', 'a link to a log that is not there');
  t.equal(await logs.link({ link, target: `${directory}/1.log` }, quietCall), null);
  t.equal(await logs.link({ link, target: `${directory}/1.log` }, quietCall), null, 'twice is once');
  t.equal(await logs.link({ link, target: `${directory}/10.log` }, quietCall), null, 'and to another log');
  t.equal(await logs.removeDeadLinks(null, quietCall), 0, 'a link that leads somewhere stays');
  host.loseLog(`${directory}/10.log`);
  host.writeLog(`${directory}/10.log.20260101-000000`);
  t.equal(await logs.removeDeadLinks(null, quietCall), 0, 'so does one whose log is being rotated');
  host.loseLog(`${directory}/10.log.20260101-000000`);
  t.equal(await logs.removeDeadLinks(null, quietCall), 1, 'a dead one goes');
  t.equal(await logs.removeDeadLinks(null, quietCall), 0);

  await logs.link({ link, target: `${directory}/1.log` }, quietCall);
  const over = { logPaths: [`${directory}/1.log`, ''], links: [link] };
  t.equal(await logs.removeContainerLogs(over, quietCall), null);
  t.equal(await logs.removeContainerLogs(over, quietCall), null, 'absent is removed');
  t.equal(await logs.nextRestartCount(counted, quietCall), 1, '1.log and its rotated file are gone, 0.log is not');
  t.equal(await logs.removeDeadLinks(null, quietCall), 0, 'its link went with it');
  t.equal(await logs.removeContainerLogs({ logPaths: [`${podLogsDirectory}/gone/app/0.log`], links: [] }, quietCall), null);

  await escapesOfLogs(t, host, directory);
  t.strictSame(await logs.listDirectories(null, quietCall), ['ns_web_u2']);
  t.equal(await logs.removeDirectory({ name: 'ns_web_u2' }, quietCall), null);
  t.equal(await logs.removeDirectory({ name: 'ns_web_u2' }, quietCall), null, 'absent is removed');
  t.strictSame(await logs.listDirectories(null, quietCall), []);
}

async function escapesOfLogs(t: Test, { logs, podLogsDirectory, linksDirectory }: PodFilesUnderTest, directory: string): Promise<void> {
  for (const name of badNames) {
    const shown = JSON.stringify(name.slice(0, 20));
    t.equal(await kindOf(() => logs.removeDirectory({ name }, quietCall)), 'invalid-argument', `removeDirectory ${shown}`);
    t.equal(await kindOf(() => logs.nextRestartCount({ podLogDirectory: name, containerName: 'app' }, quietCall)), 'invalid-argument');
    t.equal(await kindOf(() => logs.nextRestartCount({ podLogDirectory: 'ns_web_u2', containerName: name }, quietCall)), 'invalid-argument');
  }
  const target = `${directory}/0.log`;
  const paths: readonly (readonly [string, PortErrorKind])[] = [
    ['/etc/passwd', 'permission-denied'],
    [`${podLogsDirectory}/top.log`, 'permission-denied'],
    [`${podLogsDirectory}-other/x/0.log`, 'permission-denied'],
    [`${podLogsDirectory}/a/../../../etc/passwd`, 'invalid-argument'],
    [`${podLogsDirectory}/a//0.log`, 'invalid-argument'],
    ['relative/app/0.log', 'invalid-argument'],
    [`${podLogsDirectory}/a/b\0/0.log`, 'invalid-argument'],
  ];
  for (const [path, kind] of paths) {
    t.equal(await kindOf(() => logs.removeContainerLogs({ logPaths: [path], links: [] }, quietCall)), kind, `remove ${JSON.stringify(path)}`);
    t.equal(await kindOf(() => logs.link({ link: `${linksDirectory}/x.log`, target: path }, quietCall)), kind, `link to ${JSON.stringify(path)}`);
  }
  for (const [link, kind] of [
    ['/tmp/x.log', 'permission-denied'],
    [`${linksDirectory}/a/x.log`, 'permission-denied'],
    [`${linksDirectory}/../x.log`, 'invalid-argument'],
    ['x.log', 'invalid-argument'],
  ] as const) {
    t.equal(await kindOf(() => logs.link({ link, target }, quietCall)), kind, `link at ${link}`);
    t.equal(await kindOf(() => logs.removeContainerLogs({ logPaths: [], links: [link] }, quietCall)), kind, `remove link ${link}`);
  }
  const mixed = { logPaths: ['/etc/passwd', target], links: [] };
  t.equal(await kindOf(() => logs.removeContainerLogs(mixed, quietCall)), 'permission-denied', 'one bad path');
  t.equal(await logs.nextRestartCount({ podLogDirectory: 'ns_web_u2', containerName: 'app' }, quietCall), 0, '... does not keep the good one from being removed');
}

export interface PodCgroupsUnderTest {
  readonly cgroups: PortOf<PodCgroupOperations>;
  readonly podsCgroup: readonly string[];
  /** What a cgroup is set to now; null: this tree keeps no such value. */
  readonly readValue: (name: readonly string[], value: CgroupValueName) => number | null;
  /** Values are kept; a tree without controllers has none to keep. */
  readonly hasControllers: boolean;
}

export async function podCgroupsContract(t: Test, { cgroups, podsCgroup, readValue, hasControllers }: PodCgroupsUnderTest): Promise<void> {
  const guaranteed = [...podsCgroup, 'pod1111-aaaa'];
  const burstable = [...podsCgroup, 'burstable', 'pod2222-bbbb'];
  const bestEffort = [...podsCgroup, 'besteffort', 'pod3333'];
  t.strictSame(await cgroups.list(null, quietCall), [], 'none at first');
  t.equal(await cgroups.exists({ name: burstable }, quietCall), false);
  t.strictSame(await cgroups.ensure({ name: burstable, values: null, rewrite: false }, quietCall), { created: true, problem: '' }, 'made with its parents');
  t.strictSame(await cgroups.ensure({ name: burstable, values: null, rewrite: false }, quietCall), { created: false, problem: '' }, 'twice is once');
  t.equal(await cgroups.exists({ name: burstable }, quietCall), true);
  t.equal(await cgroups.countProcesses({ name: burstable }, quietCall), 0);
  t.strictSame(await cgroups.ensure({ name: guaranteed, values: null, rewrite: false }, quietCall), { created: true, problem: '' });
  t.strictSame(await cgroups.ensure({ name: bestEffort, values: null, rewrite: false }, quietCall), { created: true, problem: '' });
  await cgroups.ensure({ name: [...guaranteed, 'sandbox'], values: null, rewrite: false }, quietCall);
  await cgroups.ensure({ name: [...podsCgroup, 'podpod1'], values: null, rewrite: false }, quietCall);
  t.strictSame(await cgroups.list(null, quietCall), [
    { uid: '1111-aaaa', name: guaranteed },
    { uid: '2222-bbbb', name: burstable },
    { uid: '3333', name: bestEffort },
  ]);
  t.equal(await cgroups.destroy({ name: guaranteed }, quietCall), null, 'with what is below it');
  t.equal(await cgroups.destroy({ name: guaranteed }, quietCall), null, 'absent is removed');
  t.equal(await cgroups.exists({ name: guaranteed }, quietCall), false);
  t.equal(await cgroups.exists({ name: burstable }, quietCall), true, 'the others stay');

  const outside: readonly (readonly [readonly string[], PortErrorKind])[] = [
    [[], 'invalid-argument'],
    [['elsewhere', 'pod1'], 'permission-denied'],
    [[...podsCgroup, '..', 'pod1'], 'invalid-argument'],
    [[...podsCgroup, '.'], 'invalid-argument'],
    [[...podsCgroup, ''], 'invalid-argument'],
    [[...podsCgroup, 'a/b'], 'invalid-argument'],
    [[...podsCgroup, 'a\0'], 'invalid-argument'],
  ];
  for (const [name, kind] of outside) {
    for (const operation of ['ensure', 'set', 'destroy', 'exists', 'countProcesses'] as const)
      t.equal(await kindOf(() => cgroups[operation]({ name, values: emptyCgroupConfig, rewrite: false }, quietCall)), kind, `${operation} ${JSON.stringify(name)}`);
  }
  for (const operation of ['destroy', 'exists', 'countProcesses'] as const) t.equal(await kindOf(() => cgroups[operation]({ name: podsCgroup }, quietCall)), 'permission-denied');
  await valuesContract(t, { cgroups, podsCgroup, readValue, hasControllers });
  t.equal(await kindOf(() => cgroups.destroy({ name: burstable }, abortedCall)), 'cancelled');
  t.equal(await cgroups.exists({ name: burstable }, quietCall), true);
  for (const name of [burstable, bestEffort, [...podsCgroup, 'podpod1']]) await cgroups.destroy({ name }, quietCall);
  t.strictSame(await cgroups.list(null, quietCall), []);
}

const mebibyte = 1024n * 1024n;

/** Values come with the cgroup, change where it is set, and stay where it is only ensured. */
async function valuesContract(t: Test, { cgroups, podsCgroup, readValue, hasControllers }: PodCgroupsUnderTest): Promise<void> {
  const name = [...podsCgroup, 'burstable', 'pod4444'];
  const values = { ...emptyCgroupConfig, cpuShares: 512, cpuQuotaMicros: 50_000, cpuPeriodMicros: 100_000, memoryBytes: 64n * mebibyte };
  const missing = await kindOf(() => cgroups.set({ name, values }, quietCall));
  t.equal(missing, 'failed-precondition', 'what is not there is not made by setting it');
  const made = await cgroups.ensure({ name, values, rewrite: true }, quietCall);
  t.equal(made.created, true);
  t.equal(made.problem === '', hasControllers, made.problem);
  if (!hasControllers) return cgroups.destroy({ name }, quietCall).then(() => {});
  const shown = (of: readonly string[] = name) => (['shares', 'quota', 'memory'] as const).map((value) => readValue(of, value));
  t.strictSame(shown(), [512, 50_000, Number(64n * mebibyte)], 'made with its values');
  await cgroups.ensure({ name, values: { ...values, cpuShares: 100 }, rewrite: false }, quietCall);
  t.equal(readValue(name, 'shares'), 512, 'one that is there keeps what it has');
  await cgroups.ensure({ name, values: { ...values, cpuShares: 100 }, rewrite: true }, quietCall);
  t.equal(readValue(name, 'shares'), 100, '... unless it is to be written');
  await cgroups.ensure({ name, values: { ...emptyCgroupConfig, cpuShares: 300, cpusetCpus: '0' }, rewrite: true }, quietCall);
  t.equal(readValue(name, 'shares'), 300, 'beside CPUs of its own, too');
  t.equal(await cgroups.set({ name, values: { ...emptyCgroupConfig, memoryBytes: 32n * mebibyte } }, quietCall), null);
  t.strictSame(shown(), [300, 50_000, Number(32n * mebibyte)], 'what is null stays');
  // Longer than what the quota before allows by its own, and shorter than it takes.
  for (const period of [1000, 1_000_000, 100_000]) {
    await cgroups.set({ name, values: { ...emptyCgroupConfig, cpuQuotaMicros: period / 2 < 1000 ? 1000 : period / 2, cpuPeriodMicros: period } }, quietCall);
    t.equal(readValue(name, 'quota'), Math.max(1000, period / 2), `a period of ${period} us`);
  }
  await cgroups.set({ name, values: { ...emptyCgroupConfig, cpuQuotaMicros: -1, memoryBytes: -1n } }, quietCall);
  t.equal(readValue(name, 'quota'), -1, 'lifted');
  t.equal(await kindOf(() => cgroups.set({ name, values }, abortedCall)), 'cancelled');
  t.strictSame(
    await cgroups.ensure({ name: podsCgroup, values: { ...emptyCgroupConfig, cpuShares: 2048 }, rewrite: true }, quietCall),
    { created: false, problem: '' },
    'that of all pods, too',
  );
  t.equal(readValue(podsCgroup, 'shares'), 2048);
  await cgroups.set({ name: podsCgroup, values: { ...emptyCgroupConfig, cpuShares: 1024 } }, quietCall);
  t.equal(readValue(podsCgroup, 'shares'), 1024);
  await cgroups.destroy({ name }, quietCall);
  t.equal((await cgroups.ensure({ name, values: null, rewrite: true }, quietCall)).created, true, 'made anew');
  t.equal(readValue(name, 'memory') === Number(32n * mebibyte), false, '... it has nothing of what it had before');
  await cgroups.destroy({ name }, quietCall);
}
