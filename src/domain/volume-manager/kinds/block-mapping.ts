// Common parts of raw block volumes of all kinds: the paths of their device maps, containers' devices, and events.
import type { BlockMap } from '../../../ports/outbound/block-devices.js';
import type { BlockVolume } from '../../containers/block-devices.js';
import { goQuote } from '../../values/go-text.js';
import { nodePluginsDirectory, podVolumeDeviceDirectory } from '../../values/pod-directories.js';
import { joinPath } from '../../values/slash-paths.js';
import { escapeName, isBlockVolume, specName, type VolumeSpec } from '../../volumes/volume-spec.js';
import type { VolumeScene } from '../volume-kind.js';

/** @param directory of the volume's files, below `plugins` */
export function blockMapOf(plugin: string, directory: readonly string[], uid: string, spec: VolumeSpec): BlockMap {
  return { uid, plugin: escapeName(plugin), volume: specName(spec), directory };
}

/** The link, as containers' devices name it; null: it isn't a raw block volume. */
export function blockDeviceOf(plugin: string, spec: VolumeSpec, uid: string, rootDirectory: string): BlockVolume | null {
  if (!isBlockVolume(spec)) return null;
  return { link: joinPath(podVolumeDeviceDirectory(rootDirectory, uid, escapeName(plugin)), specName(spec)), readOnly: spec.readOnly === true };
}

/** Records both of the reference's events: the device's path for the node, and for the pod. */
export function recordMapped({ spec, pod, uid, context }: VolumeScene, plugin: string, directory: readonly string[]): void {
  if (pod === null) return;
  const { rootDirectory } = context.nodeFacts;
  const report = (what: string) => context.event(pod, null, 'Normal', 'SuccessfulMountVolume', `MapVolume.MapPodDevice succeeded for volume ${goQuote(specName(spec))} ${what}`);
  report(`globalMapPath ${goQuote(joinPath(nodePluginsDirectory(rootDirectory), ...directory))}`);
  report(`volumeMapPath ${goQuote(podVolumeDeviceDirectory(rootDirectory, uid, escapeName(plugin)))}`);
}
