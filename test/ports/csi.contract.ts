// The contract of the plugin ports: registration sockets, a CSI driver's node service, and the files of its volumes.
import type { Test } from 'tap';
import type { PortOf } from '../../src/ports/operation.js';
import type { CsiFileOperations } from '../../src/ports/outbound/csi-files.js';
import type { CsiNodeOperations, CsiStaging } from '../../src/ports/outbound/csi-node.js';
import type { PluginSocketOperations } from '../../src/ports/outbound/plugin-sockets.js';
import type { VolumePlace } from '../../src/ports/outbound/volume-mounts.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';

export interface CsiFilesUnderTest {
  readonly files: PortOf<CsiFileOperations>;
  preparePod(uid: string): Promise<unknown>;
}

export interface PluginsUnderTest {
  readonly rootDirectory: string;
  readonly sockets: PortOf<PluginSocketOperations>;
  readonly node: PortOf<CsiNodeOperations>;
  /** A driver of this name, with STAGE_UNSTAGE_VOLUME; a restart recreates its socket. */
  start(name: string): Promise<void>;
  stop(name: string): Promise<void>;
  told(name: string): { readonly registered: boolean; readonly error: string } | null;
}

const staged = (driver = 'd'): VolumePlace => ({ kind: 'node', elements: ['kubernetes.io', 'csi', driver, 'hash', 'globalmount'] });
const published = (uid = 'u1'): VolumePlace => ({ kind: 'pod', uid, plugin: 'kubernetes.io~csi', volume: 'pv', inner: 'mount' });

export async function csiFilesContract(t: Test, { files, preparePod }: CsiFilesUnderTest): Promise<void> {
  await preparePod('u1');
  for (const [place, makesPlace] of [
    [staged(), true],
    [published(), false],
  ] as const) {
    t.equal(await files.read({ place }, quietCall), null, 'nothing is there at first');
    for (const data of ['{"a":"1"}\n', '{"a":"2"}\n']) {
      await files.prepare({ place, makesPlace, data }, quietCall);
      t.equal(await files.read({ place }, quietCall), data);
    }
    t.strictSame(await files.staged(null, quietCall), makesPlace ? [{ data: '{"a":"2"}\n', isDevice: false }] : [], 'what is staged is found');
    t.equal(await files.remove({ place }, quietCall), 'removed');
    t.equal(await files.remove({ place }, quietCall), 'removed', 'what is gone is gone');
    t.equal(await files.read({ place }, quietCall), null);
  }
  await files.prepare({ place: staged(), makesPlace: true, data: null }, quietCall);
  t.equal(await files.read({ place: staged() }, quietCall), null, 'a place without data');
  t.equal(await files.remove({ place: staged() }, quietCall), 'removed');
  for (const data of ['{"d":"1"}\n', '{"d":"2"}\n']) await files.prepareDevice({ volume: 'pv', data }, quietCall);
  t.strictSame(await files.staged(null, quietCall), [{ data: '{"d":"2"}\n', isDevice: true }], 'a raw block volume is found');
  for (let i = 0; i < 2; i++) t.equal(await files.removeDevice({ volume: 'pv' }, quietCall), 'removed');
  t.strictSame(await files.staged(null, quietCall), []);
  for (const volume of ['', '..', 'a/b']) t.equal(await kindOf(() => files.prepareDevice({ volume, data: '' }, quietCall)), 'invalid-argument');
  t.equal(await kindOf(() => files.prepare({ place: published('u2'), makesPlace: false, data: '{}' }, quietCall)), 'not-found', 'a pod without a directory');
  for (const place of [
    staged('..'),
    staged('a/b'),
    staged(''),
    { ...published(), volume: '..' },
    { ...published(), inner: null },
    { kind: 'node', elements: ['a', 'b'] },
  ] as const) {
    t.equal(await kindOf(() => files.prepare({ place, makesPlace: true, data: '{}' }, quietCall)), 'invalid-argument', JSON.stringify(place));
  }
}

export async function pluginsContract(t: Test, { rootDirectory, sockets, node, start, stop, told }: PluginsUnderTest): Promise<void> {
  t.strictSame((await sockets.scan(null, quietCall)).sockets, []);
  await start('b.example.com');
  await start('a.example.com');
  const before = (await sockets.scan(null, quietCall)).sockets;
  t.strictSame(
    before.map(({ path }) => path),
    ['a', 'b'].map((name) => `${rootDirectory}/plugins_registry/${name}.example.com-reg.sock`),
  );
  t.strictSame((await sockets.scan(null, quietCall)).sockets, before, 'looked at again they are the same');
  const socket = before[0]?.path ?? '';
  const { endpoint, ...info } = await sockets.info({ socket }, quietCall);
  t.strictSame(info, { type: 'CSIPlugin', name: 'a.example.com', supportedVersions: ['1.0.0'] });
  await sockets.notify({ socket, registered: false, error: 'no' }, quietCall);
  t.strictSame(told('a.example.com'), { registered: false, error: 'no' });
  await calls(t, node, endpoint === '' ? socket : endpoint, rootDirectory);
  await stop('a.example.com');
  t.equal(await kindOf(() => node.capabilities({ endpoint: socket }, quietCall)), 'unavailable');
  t.equal(await kindOf(() => sockets.info({ socket }, quietCall)), 'unavailable');
  t.equal((await sockets.scan(null, quietCall)).sockets.length, 1);
  await start('a.example.com');
  t.not((await sockets.scan(null, quietCall)).sockets[0]?.identity, before[0]?.identity, 'a socket that was made anew is another one');
  await stop('a.example.com');
  await stop('b.example.com');
}

async function calls(t: Test, node: PortOf<CsiNodeOperations>, endpoint: string, rootDirectory: string): Promise<void> {
  t.strictSame(await node.info({ endpoint }, quietCall), { nodeId: 'node-1', maxVolumes: 3n, topology: { zone: 'z' } });
  t.strictSame(await node.capabilities({ endpoint }, quietCall), ['STAGE_UNSTAGE_VOLUME']);
  const stagingTargetPath = `${rootDirectory}/plugins/staged`;
  const targetPath = `${rootDirectory}/pods/u1/volumes/kubernetes.io~csi/pv/mount`;
  const volumeCapability = { accessMode: 'SINGLE_NODE_WRITER', fsType: '', mountFlags: [], volumeMountGroup: '', isBlock: false };
  const request: CsiStaging = { volumeId: 'v1', publishContext: {}, stagingTargetPath, volumeCapability, secrets: { s: 'x' }, volumeContext: { a: 'b' } };
  // Each twice: a kubelet that was restarted asks again.
  for (let i = 0; i < 2; i++) t.equal(await node.stage({ endpoint, ...request }, quietCall), null);
  for (let i = 0; i < 2; i++) t.equal(await node.publish({ endpoint, ...request, targetPath, readonly: false }, quietCall), null);
  t.equal((await node.stats({ endpoint, volumeId: 'v1', volumePath: targetPath, stagingTargetPath }, quietCall)).usage[0]?.unit, 'BYTES');
  const expanded = { endpoint, volumeId: 'v1', volumePath: targetPath, stagingTargetPath, requiredBytes: 5n, volumeCapability, secrets: {} };
  t.strictSame(await node.expand(expanded, quietCall), { capacityBytes: 5n });
  for (let i = 0; i < 2; i++) t.equal(await node.unpublish({ endpoint, volumeId: 'v1', targetPath }, quietCall), null);
  for (let i = 0; i < 2; i++) t.equal(await node.unstage({ endpoint, volumeId: 'v1', stagingTargetPath }, quietCall), null);
}
