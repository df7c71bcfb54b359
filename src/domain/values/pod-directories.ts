// The directories below the kubelet's root. Other programs (CSI drivers, device plugins, operators' scripts) use them, so they are an interface.
// Plugin names are joined as they are: the caller has replaced `/` by `~`.
import { joinPath } from './slash-paths.js';

export function podsDirectory(rootDirectory: string): string {
  return joinPath(rootDirectory, 'pods');
}
export function podDirectory(rootDirectory: string, podUid: string): string {
  return joinPath(rootDirectory, 'pods', podUid);
}
export function podVolumesDirectory(rootDirectory: string, podUid: string): string {
  return joinPath(podDirectory(rootDirectory, podUid), 'volumes');
}
export function podVolumeDirectory(rootDirectory: string, podUid: string, plugin: string, volume: string): string {
  return joinPath(podVolumesDirectory(rootDirectory, podUid), plugin, volume);
}
export function podVolumeDevicesDirectory(rootDirectory: string, podUid: string): string {
  return joinPath(podDirectory(rootDirectory, podUid), 'volumeDevices');
}
export function podVolumeDeviceDirectory(rootDirectory: string, podUid: string, plugin: string): string {
  return joinPath(podVolumeDevicesDirectory(rootDirectory, podUid), plugin);
}
export function podPluginsDirectory(rootDirectory: string, podUid: string): string {
  return joinPath(podDirectory(rootDirectory, podUid), 'plugins');
}
export function podPluginDirectory(rootDirectory: string, podUid: string, plugin: string): string {
  return joinPath(podPluginsDirectory(rootDirectory, podUid), plugin);
}
/** Termination messages and other files of one container. */
export function podContainerDirectory(rootDirectory: string, podUid: string, containerName: string): string {
  return joinPath(podDirectory(rootDirectory, podUid), 'containers', containerName);
}
export function podEtcHostsFile(rootDirectory: string, podUid: string): string {
  return joinPath(podDirectory(rootDirectory, podUid), 'etc-hosts');
}
export function podSubpathsDirectory(rootDirectory: string, podUid: string): string {
  return joinPath(podDirectory(rootDirectory, podUid), 'volume-subpaths');
}
export function nodePluginsDirectory(rootDirectory: string): string {
  return joinPath(rootDirectory, 'plugins');
}
export function nodePluginDirectory(rootDirectory: string, plugin: string): string {
  return joinPath(nodePluginsDirectory(rootDirectory), plugin);
}
/** Raw devices of one plugin. */
export function nodeVolumeDevicesDirectory(rootDirectory: string, plugin: string): string {
  return joinPath(nodePluginDirectory(rootDirectory, plugin), 'volumeDevices');
}
/** The directory of the sockets with which plugins register. */
export function pluginRegistrationDirectory(rootDirectory: string): string {
  return joinPath(rootDirectory, 'plugins_registry');
}
export function podResourcesDirectory(rootDirectory: string): string {
  return joinPath(rootDirectory, 'pod-resources');
}
export function checkpointsDirectory(rootDirectory: string): string {
  return joinPath(rootDirectory, 'checkpoints');
}
