// Raw block devices: the contract on the model and, as root of a host with loop devices, on the kernel; what is bound, held and linked; without losetup.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openNativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { FileBlockDevices, FilePodDirectories, FileVolumeMounts, mountHelperDirectories } from '../../src/adapters/storage/index.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { blockDevicesContract } from './block-devices.contract.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';
import { portOf } from './sim-port.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
const skip = process.getuid?.() === 0 && existsSync('/dev/loop-control') ? false : 'it takes root and loop devices';
const map = { uid: 'u1', plugin: 'kubernetes.io~csi', volume: 'pv', directory: ['kubernetes.io', 'csi', 'volumeDevices', 'pv', 'dev'] };

t.test('the model', (t) => {
  const host = new SimHost({ seed: 1 });
  host.state.hostPaths.set('/dev/a', 'block-device').set('/dev/b', 'block-device').set('/file', 'file');
  const directories = portOf<FilePodDirectories>(host, 'podDirectories');
  const mounts = portOf<FileVolumeMounts>(host, 'volumeMounts');
  return blockDevicesContract(t, {
    devices: portOf(host, 'blockDevices'),
    paths: ['/dev/a', '/dev/b'],
    noDevice: '/file',
    preparePod: (uid) => directories.prepare({ uid }, quietCall),
    left: async (uid) => (await mounts.survey(null, quietCall)).find((pod) => pod.uid === uid)?.volumes ?? [],
  });
});

/** A loop device of this test's alone. */
function loopDevice(t: Test, base: string, name: string): string {
  const file = join(base, name);
  writeFileSync(file, '');
  truncateSync(file, 1024 * 1024);
  const device = execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim();
  t.teardown(() => execFileSync('losetup', ['--detach', device]));
  return device;
}

function real(t: Test, programDirectories = mountHelperDirectories) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'block-')));
  t.teardown(() => rmSync(base, { recursive: true }));
  const rootDirectory = join(base, 'root');
  const directories = FilePodDirectories.open({ rootDirectory, podLogsDirectory: join(base, 'logs') });
  const mounts = FileVolumeMounts.open({ rootDirectory, helperDirectories: [] }, native.mounts, native.trees);
  const devices = FileBlockDevices.open({ rootDirectory, programDirectories }, native.mounts);
  t.teardown(async () => {
    for (const uid of ['u1', 'u2']) await devices.unmap({ ...map, uid, keepsLink: false }, quietCall);
    for (const part of [directories, mounts, devices]) part.close();
  });
  return { base, rootDirectory, directories, mounts, devices };
}

const heldBy = (file: string) =>
  readdirSync('/sys/block').filter((name) => {
    const backing = `/sys/block/${name}/loop/backing_file`;
    return existsSync(backing) && readFileSync(backing, 'utf8').trim() === file;
  });

t.test('the kernel', { skip }, (t) => {
  const { base, directories, mounts, devices } = real(t);
  const noDevice = join(base, 'file');
  writeFileSync(noDevice, '');
  return blockDevicesContract(t, {
    devices,
    paths: [loopDevice(t, base, 'a'), loopDevice(t, base, 'b')],
    noDevice,
    preparePod: (uid) => directories.prepare({ uid }, quietCall),
    left: async (uid) => (await mounts.survey(null, quietCall)).find((pod) => pod.uid === uid)?.volumes ?? [],
  });
});

t.test('the device is bound, linked and held, and nothing is left of it', { skip }, async (t) => {
  const { base, rootDirectory, directories, devices } = real(t);
  await directories.prepare({ uid: 'u1' }, quietCall);
  const device = loopDevice(t, base, 'a');
  const link = join(base, 'link');
  symlinkSync(device, link);
  await devices.map({ ...map, device: link }, quietCall);
  const file = join(rootDirectory, 'plugins', ...map.directory, 'u1');
  const given = join(rootDirectory, 'pods/u1/volumeDevices/kubernetes.io~csi/pv');
  t.equal(statSync(file).rdev, statSync(device).rdev);
  t.equal(readlinkSync(given), device, 'links of the driver’s are followed');
  t.equal(heldBy(file).length, 1);
  await devices.unmap({ ...map, keepsLink: false }, quietCall);
  t.notOk(existsSync(file));
  t.notOk(lstatSync(given, { throwIfNoEntry: false }));
  t.equal(heldBy(file).length, 0);
});

t.test('without losetup it is said, and what was made goes', { skip }, async (t) => {
  const { base, rootDirectory, directories, devices } = real(t, [join(tmpdir(), 'no-such-directory')]);
  await directories.prepare({ uid: 'u1' }, quietCall);
  const device = loopDevice(t, base, 'a');
  t.equal(await kindOf(() => devices.map({ ...map, device }, quietCall)), 'failed-precondition');
  await devices.unmap({ ...map, keepsLink: false }, quietCall);
  t.notOk(existsSync(join(rootDirectory, 'plugins', ...map.directory, 'u1')));
});

t.test('what is bound has its link already: a kill in between leaves nothing that the next agent can’t find', { skip }, async (t) => {
  const { base, rootDirectory, directories } = real(t);
  await directories.prepare({ uid: 'u1' }, quietCall);
  const given = join(rootDirectory, 'pods/u1/volumeDevices/kubernetes.io~csi/pv');
  const seen: boolean[] = [];
  const bind = async (): Promise<never> => {
    seen.push(lstatSync(given, { throwIfNoEntry: false })?.isSymbolicLink() === true);
    throw new Error('planned');
  };
  const devices = FileBlockDevices.open({ rootDirectory, programDirectories: [] }, { ...native.mounts, bind } as never);
  t.teardown(() => devices.close());
  t.not(await kindOf(() => devices.map({ ...map, device: loopDevice(t, base, 'a') }, quietCall)), 'done');
  t.strictSame(seen, [true]);
});

t.test('a link in the way is not followed', async (t) => {
  const { base, rootDirectory, directories, devices } = real(t);
  await directories.prepare({ uid: 'u1' }, quietCall);
  const outside = join(base, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, join(rootDirectory, 'plugins'));
  t.equal(await kindOf(() => devices.users({ directory: map.directory }, quietCall)), 'permission-denied');
  rmSync(join(rootDirectory, 'plugins'));
  t.strictSame(readdirSync(outside), []);
});
