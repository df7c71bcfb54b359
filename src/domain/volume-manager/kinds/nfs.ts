// NFS, of a pod or of a persistent volume: mounted by the host's mount.nfs. The server determines the owners.
// Invariant: an unresponsive server blocks only this volume; an unmount waits for it for one minute.
import { microsPerSecond } from '../../values/time.js';
import type { VolumeSpec } from '../../volumes/volume-spec.js';
import { singleCommand, type VolumeKind, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { optionsOf, placeOf, unmountOf } from './mounted-directory.js';
import { viewOf } from './own-directory.js';

const plugin = 'kubernetes.io/nfs';
const unmountPatience = 60 * microsPerSecond;

function ask(scene: VolumeScene): VolumeStep {
  const { server, path, readOnly } = sourceOf(scene.spec);
  // An IPv6 address would run into the path.
  const host = server.includes(':') && !server.startsWith('[') ? `[${server}]` : server;
  const source = { kind: 'helper', fsType: 'nfs', source: `${host}:${path}`, options: optionsOf(scene.spec, readOnly) } as const;
  return scene.ask('volumeMounts.mount', { place: placeOf(plugin, scene.uid, scene.spec), source });
}

function sourceOf(spec: VolumeSpec): { readonly server: string; readonly path: string; readonly readOnly: boolean } {
  const { server = '', path = '', readOnly = false } = (spec.kind === 'inline' ? spec.volume.nfs : spec.persistentVolume.spec.nfs) ?? {};
  return { server, path, readOnly: spec.kind === 'inline' ? readOnly : spec.readOnly };
}

export const nfs: VolumeKind = {
  plugin,
  mountDevice: null,
  setUp: singleCommand('volumeMounts.mount', ask, 'uncertain'),
  tearDown: unmountOf(plugin, unmountPatience),
  unmountDevice: null,
  view: viewOf,
  reconstruct: ({ name }) => ({ kind: 'inline', volume: { name, nfs: { server: '', path: '' } } }),
};
