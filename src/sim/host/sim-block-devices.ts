// Raw block devices of pods, as a model: the device of each file below `plugins`, and the link in the pod's directory.
import { joinPath } from '../../domain/values/slash-paths.js';
import type { BlockDeviceOperations, BlockMap } from '../../ports/outbound/block-devices.js';
import type { LeftVolume } from '../../ports/outbound/pod-volumes.js';
import type { SimHostSettings } from './host-options.js';
import type { ModelOf } from './host-ports.js';
import type { SimHostState } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';

export class SimBlockDevices implements ModelOf<BlockDeviceOperations> {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  map({ device, ...map }: BlockDeviceOperations['map']['request']): null {
    const file = this.fileOf(map);
    if (!device.startsWith('/')) throw new HostRefusal('invalid-argument', `${device} is no absolute path`);
    const kind = this.state.volumeMounts.has(device) ? 'block-device' : this.state.hostPaths.get(device);
    if (kind === undefined) throw new HostRefusal('not-found', `${device}: no such file or directory`);
    if (kind !== 'block-device') throw new HostRefusal('failed-precondition', `${device} is not a block device`);
    this.linksOf(map.uid);
    this.state.blockMaps.set(file, device);
    this.linksOf(map.uid).set(`${map.plugin}/${map.volume}`, device);
    return null;
  }

  mark({ device, ...map }: BlockDeviceOperations['mark']['request']): null {
    this.fileOf(map);
    const links = this.linksOf(map.uid);
    if (!links.has(`${map.plugin}/${map.volume}`)) links.set(`${map.plugin}/${map.volume}`, device);
    return null;
  }

  private linksOf(uid: string): Map<string, string> {
    const pod = this.state.podDirectories.get(uid);
    if (pod === undefined) throw new HostRefusal('not-found', `the pod ${uid} has no directory`);
    return pod.deviceLinks;
  }

  unmap({ keepsLink, ...map }: BlockDeviceOperations['unmap']['request']): null {
    this.state.blockMaps.delete(this.fileOf(map));
    if (!keepsLink) this.state.podDirectories.get(map.uid)?.deviceLinks.delete(`${map.plugin}/${map.volume}`);
    return null;
  }

  users({ directory }: BlockDeviceOperations['users']['request']): readonly string[] {
    for (const name of directory) checkName(name);
    const below = `${joinPath(this.settings.rootDirectory, 'plugins', ...directory)}/`;
    return [...this.state.blockMaps.keys()].flatMap((path) => (path.startsWith(below) ? [path.slice(below.length)] : [])).sort();
  }

  private fileOf({ uid, plugin, volume, directory }: BlockMap): string {
    if (directory.length < 2) throw new HostRefusal('invalid-argument', 'a block volume has a directory of its own');
    for (const name of [uid, plugin, volume, ...directory]) checkName(name);
    return joinPath(this.settings.rootDirectory, 'plugins', ...directory, uid);
  }
}

/** Links in the pod's directory. */
export function devicesOf({ podDirectories, csiFiles }: SimHostState, uid: string): LeftVolume[] {
  return [...(podDirectories.get(uid)?.deviceLinks.keys() ?? [])]
    .map((link) => {
      const [plugin = '', volume = ''] = link.split('/');
      const data = [...csiFiles].find(([place]) => plugin === 'kubernetes.io~csi' && place.endsWith(`/volumeDevices/${volume}/data`))?.[1].data ?? null;
      return { plugin, volume, isDevice: true, data };
    })
    .sort((a, b) => (a.volume < b.volume ? -1 : 1));
}
