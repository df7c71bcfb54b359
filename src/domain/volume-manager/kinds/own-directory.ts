// What kinds have in common whose volumes are a directory or a tmpfs of the kubelet's own, below the pod's directory.
import type { VolumeAddress } from '../../../ports/outbound/pod-volumes.js';
import type { MountedVolume } from '../../containers/mounts.js';
import { hostCallLimit } from '../../values/host-call-limit.js';
import { volumeAddressFor } from '../../volumes/node-volumes.js';
import { volumePluginFor, volumeView } from '../../volumes/volume-plugins.js';
import { escapeName, specName, type VolumeSpec } from '../../volumes/volume-spec.js';
import { singleCommand, type VolumeProcedure } from '../volume-kind.js';

export function addressOf(plugin: string, uid: string, spec: VolumeSpec): VolumeAddress {
  return volumeAddressFor(uid, escapeName(plugin), specName(spec));
}

export function tearDownOf(plugin: string): VolumeProcedure<never> {
  return singleCommand('podVolumes.tearDown', (scene) => scene.ask('podVolumes.tearDown', addressOf(plugin, scene.uid, scene.spec), hostCallLimit));
}

/** What containers see, as the plugin has it. */
export function viewOf(spec: VolumeSpec, uid: string, rootDirectory: string): MountedVolume | null {
  const plugin = volumePluginFor(spec);
  const seen = plugin === null ? null : volumeView(plugin, spec, { rootDirectory, podUid: uid, localPathType: 'directory' });
  if (seen?.ok !== true) return null;
  const { path, readOnly, managed, seLinuxRelabel } = seen.view;
  return { hostPath: path, readOnly, managed, selinuxRelabel: seLinuxRelabel, directoryName: specName(spec) };
}
