// The contract of volume mounts: the model, and the real one on a file system.
import type { Test } from 'tap';
import type { PortOf } from '../../src/ports/operation.js';
import type { VolumeMountOperations, VolumeMountSource, VolumePlace } from '../../src/ports/outbound/volume-mounts.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';

export interface VolumeMountsUnderTest {
  readonly mounts: PortOf<VolumeMountOperations>;
  /** A directory of the host that can be bound. */
  readonly hostDirectory: string;
  preparePod(uid: string): Promise<unknown>;
  removePod(uid: string): Promise<unknown>;
}

export const placeOf = (uid: string, volume = 'pv', inner: string | null = null): VolumePlace => ({ kind: 'pod', uid, plugin: 'kubernetes.io~local-volume', volume, inner });

export async function volumeMountsContract(t: Test, { mounts, hostDirectory, preparePod, removePod }: VolumeMountsUnderTest): Promise<void> {
  const source: VolumeMountSource = { kind: 'bind', path: hostDirectory, options: [] };
  const [first, second] = [placeOf('u1'), placeOf('u2')];
  t.strictSame(await mounts.survey(null, quietCall), [], 'nothing was left');
  t.equal(await kindOf(() => mounts.mount({ place: first, source }, quietCall)), 'not-found', 'a pod without a directory');
  t.equal(await mounts.unmount({ place: first, forceAfter: null }, quietCall), null, 'absent is unmounted');
  await preparePod('u1');
  await preparePod('u2');
  const missing: VolumeMountSource = { kind: 'bind', path: `${hostDirectory}/none`, options: [] };
  t.equal(await kindOf(() => mounts.mount({ place: first, source: missing }, quietCall)), 'not-found');
  t.strictSame(await mounts.survey(null, quietCall), [], 'and a mount that failed leaves no directory');
  t.equal(await mounts.mount({ place: first, source }, quietCall), 'mounted');
  t.equal(await mounts.mount({ place: first, source }, quietCall), 'present', 'twice is once');
  t.strictSame(await mounts.survey(null, quietCall), [{ uid: 'u1', volumes: [{ plugin: 'kubernetes.io~local-volume', volume: 'pv', isDevice: false, data: null }] }]);
  t.strictSame((await mounts.references({ place: first }, quietCall)).mountPoints, []);
  t.equal(await mounts.mount({ place: second, source }, quietCall), 'mounted');
  const { mountPoints } = await mounts.references({ place: first }, quietCall);
  t.ok(mountPoints.length === 1 && mountPoints[0]?.endsWith('/pods/u2/volumes/kubernetes.io~local-volume/pv'), `who else has it: ${mountPoints.join()}`);
  t.equal(await kindOf(() => removePod('u2')), 'failed-precondition', 'a directory with a mount stays');

  t.type(await mounts.hasLabels({ place: first }, quietCall), 'boolean');
  t.equal(await kindOf(() => mounts.hasLabels({ place: placeOf('u3') }, quietCall)), 'not-found');
  const ownership = { gid: 4711, fileBits: 0o660, directoryBits: 0o2770, onRootMismatch: true };
  t.match(await mounts.setOwnership({ place: first, ownership }, quietCall), { walked: true, gid: 0, failures: 0 });
  t.match(await mounts.setOwnership({ place: first, ownership }, quietCall), { walked: false, gid: 4711 }, 'what matches is left');
  t.match(await mounts.setOwnership({ place: first, ownership: { ...ownership, onRootMismatch: false } }, quietCall), { walked: true });
  t.equal(await kindOf(() => mounts.setOwnership({ place: placeOf('u3'), ownership }, quietCall)), 'not-found');
  t.equal(await mounts.ownershipProgress({ place: first }, quietCall), null, 'no walk is under way');

  for (const place of [first, second]) t.equal(await mounts.unmount({ place, forceAfter: null }, quietCall), null);
  t.strictSame(await mounts.survey(null, quietCall), []);
  t.equal(await mounts.unmount({ place: first, forceAfter: null }, quietCall), null, 'again');

  const inner = placeOf('u1', 'csi', 'mount');
  t.equal(await mounts.mount({ place: inner, source }, quietCall), 'mounted', 'beside other things of the plugin');
  t.equal(await mounts.unmount({ place: inner, forceAfter: null }, quietCall), null);
  const onNode: VolumePlace = { kind: 'node', elements: ['kubernetes.io', 'local-volume', 'mounts', 'pv'] };
  t.equal(await mounts.mount({ place: onNode, source }, quietCall), 'mounted', 'once for the node');
  t.equal(await mounts.unmount({ place: onNode, forceAfter: null }, quietCall), null);
  for (const bad of ['', '..', 'a/b']) {
    t.equal(await kindOf(() => mounts.mount({ place: placeOf('u1', bad), source }, quietCall)), 'invalid-argument');
    t.equal(await kindOf(() => mounts.unmount({ place: { kind: 'node', elements: ['x', bad] }, forceAfter: null }, quietCall)), 'invalid-argument');
  }
}
