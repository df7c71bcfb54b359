// The contract of the raw block device port.
import type { Test } from 'tap';
import type { PortOf } from '../../src/ports/operation.js';
import type { BlockDeviceOperations, BlockMap } from '../../src/ports/outbound/block-devices.js';
import type { LeftVolume } from '../../src/ports/outbound/pod-volumes.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';

export interface BlockDevicesUnderTest {
  readonly devices: PortOf<BlockDeviceOperations>;
  /** Two that are there. */
  readonly paths: readonly [string, string];
  /** What is there and is none. */
  readonly noDevice: string;
  preparePod(uid: string): Promise<unknown>;
  left(uid: string): Promise<readonly LeftVolume[]>;
}

const directory = ['kubernetes.io', 'csi', 'volumeDevices', 'pv', 'dev'];
const mapOf = (uid = 'u1'): BlockMap => ({ uid, plugin: 'kubernetes.io~csi', volume: 'pv', directory });

export async function blockDevicesContract(t: Test, { devices, paths, noDevice, preparePod, left }: BlockDevicesUnderTest): Promise<void> {
  await preparePod('u1');
  await preparePod('u2');
  t.strictSame(await devices.users({ directory }, quietCall), [], 'a directory that isn’t there');
  t.equal(await devices.unmap({ ...mapOf(), keepsLink: false }, quietCall), null, 'what is not there is gone');
  for (const device of [paths[0], paths[0], paths[1]]) t.equal(await devices.map({ ...mapOf(), device }, quietCall), null, 'again, and another one in its place');
  await devices.map({ ...mapOf('u2'), device: paths[1] }, quietCall);
  t.strictSame(await devices.users({ directory }, quietCall), ['u1', 'u2']);
  t.match(await left('u1'), [{ plugin: 'kubernetes.io~csi', volume: 'pv', isDevice: true }], 'a later agent finds it');
  for (let i = 0; i < 2; i++) t.equal(await devices.unmap({ ...mapOf(), keepsLink: true }, quietCall), null);
  t.strictSame(await devices.users({ directory }, quietCall), ['u2']);
  t.equal((await left('u1')).length, 1, 'the link tells of it');
  for (let i = 0; i < 2; i++) t.equal(await devices.unmap({ ...mapOf(), keepsLink: false }, quietCall), null);
  t.strictSame(await left('u1'), []);
  for (let i = 0; i < 2; i++) t.equal(await devices.mark({ ...mapOf(), device: '/not/there/yet' }, quietCall), null);
  t.equal((await left('u1')).length, 1, 'known before it is there');
  await devices.unmap({ ...mapOf(), keepsLink: false }, quietCall);
  await devices.unmap({ ...mapOf('u2'), keepsLink: false }, quietCall);
  t.strictSame(await devices.users({ directory }, quietCall), []);
  t.equal(await kindOf(() => devices.map({ ...mapOf(), device: '/nowhere/at/all' }, quietCall)), 'not-found', 'no such device');
  t.equal(await kindOf(() => devices.map({ ...mapOf('gone'), device: paths[0] }, quietCall)), 'not-found', 'a pod without a directory');
  t.equal(await kindOf(() => devices.map({ ...mapOf(), device: noDevice }, quietCall)), 'failed-precondition', 'no device of blocks');
  const wrong: readonly Partial<BlockMap & { device: string }>[] = [
    { uid: '..' },
    { uid: 'a/b' },
    { plugin: '' },
    { volume: '..' },
    { directory: ['a'] },
    { directory: ['a', '..'] },
    { device: 'dev/x' },
  ];
  for (const part of wrong) t.equal(await kindOf(() => devices.map({ ...mapOf(), device: paths[0], ...part }, quietCall)), 'invalid-argument', JSON.stringify(part));
}
