// Plugins of a simulated node: registration sockets, CSI drivers that record staged and published volumes in the host's mounts, and the
// kubelet's files for their volumes.
// Invariant: a published volume is in the host's mounts until it is unpublished, so that checkers of mounts see it.
import { joinPath } from '../../domain/values/slash-paths.js';
import type { CsiFileOperations, StagedCsiVolume } from '../../ports/outbound/csi-files.js';
import type { CsiNodeOperations } from '../../ports/outbound/csi-node.js';
import type { PluginSocketOperations } from '../../ports/outbound/plugin-sockets.js';
import type { VolumePlace } from '../../ports/outbound/volume-mounts.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState, SimPlugin } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';

type Pod = Extract<VolumePlace, { kind: 'pod' }>;

export class SimCsi {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  /** Starts a plugin, or starts it again, at a socket of this name. */
  put(socketName: string, plugin: Partial<Omit<SimPlugin, 'identity' | 'notified'>> & { readonly name: string }): SimPlugin {
    const path = joinPath(this.settings.rootDirectory, 'plugins_registry', socketName);
    const starts = this.state.pluginStarts++;
    const defaults = {
      type: 'CSIPlugin',
      supportedVersions: ['1.0.0'],
      nodeId: 'node-1',
      maxVolumes: 0n,
      topology: {},
      capabilities: ['STAGE_UNSTAGE_VOLUME'],
      failures: [],
      claimErrors: new Map<string, string>(),
      sizes: new Map<string, number>(),
    };
    const made: SimPlugin = { ...defaults, ...plugin, identity: String(starts), notified: null };
    this.state.plugins.set(path, made);
    return made;
  }

  remove(socketName: string): void {
    this.state.plugins.delete(joinPath(this.settings.rootDirectory, 'plugins_registry', socketName));
  }

  scan(): PluginSocketOperations['scan']['reply'] {
    const sockets = [...this.state.plugins].map(([path, { identity }]) => ({ path, identity }));
    return { sockets: sockets.sort((a, b) => (a.path < b.path ? -1 : 1)), watched: false };
  }

  pluginInfo({ socket }: PluginSocketOperations['info']['request']): PluginSocketOperations['info']['reply'] {
    const { type, name, supportedVersions } = this.pluginAt(socket);
    return { type, name, endpoint: '', supportedVersions };
  }

  notify({ socket, registered, error }: PluginSocketOperations['notify']['request']): null {
    this.pluginAt(socket).notified = { registered, error };
    return null;
  }

  nodeInfo({ endpoint }: CsiNodeOperations['info']['request']): CsiNodeOperations['info']['reply'] {
    const { nodeId, maxVolumes, topology } = this.called(endpoint, 'info');
    return { nodeId, maxVolumes, topology };
  }

  capabilities({ endpoint }: CsiNodeOperations['capabilities']['request']): readonly string[] {
    return this.called(endpoint, 'capabilities').capabilities;
  }

  stage({ endpoint, volumeId, stagingTargetPath }: CsiNodeOperations['stage']['request']): null {
    this.called(endpoint, 'stage');
    this.state.volumeMounts.set(stagingTargetPath, { shown: `csi ${volumeId}`, options: [], gid: 0 });
    return null;
  }

  publish({ endpoint, volumeId, targetPath, stagingTargetPath }: CsiNodeOperations['publish']['request']): null {
    this.called(endpoint, 'publish');
    if (stagingTargetPath !== '' && !this.state.volumeMounts.has(stagingTargetPath)) {
      throw new HostRefusal('failed-precondition', `rpc error: code = FailedPrecondition desc = ${volumeId} is not staged`);
    }
    this.state.volumeMounts.set(targetPath, { shown: `csi ${volumeId}`, options: [], gid: 0 });
    this.podMount(targetPath, true);
    return null;
  }

  unpublish({ endpoint, targetPath }: CsiNodeOperations['unpublish']['request']): null {
    this.called(endpoint, 'unpublish');
    this.state.volumeMounts.delete(targetPath);
    this.podMount(targetPath, false);
    return null;
  }

  unstage({ endpoint, stagingTargetPath }: CsiNodeOperations['unstage']['request']): null {
    this.called(endpoint, 'unstage');
    this.state.volumeMounts.delete(stagingTargetPath);
    return null;
  }

  expand({ endpoint, volumeId, requiredBytes }: CsiNodeOperations['expand']['request']): CsiNodeOperations['expand']['reply'] {
    this.called(endpoint, 'expand').sizes.set(volumeId, Number(requiredBytes));
    return { capacityBytes: requiredBytes };
  }

  stats({ endpoint }: CsiNodeOperations['stats']['request']): CsiNodeOperations['stats']['reply'] {
    this.called(endpoint, 'stats');
    return { usage: [{ unit: 'BYTES', available: 1n, total: 2n, used: 1n }], condition: null };
  }

  prepare({ place, makesPlace, data }: CsiFileOperations['prepare']['request']): null {
    const path = this.pathOf(place);
    if (place.kind === 'pod' && !this.state.podDirectories.has(place.uid)) throw new HostRefusal('not-found', `the pod ${place.uid} has no directory`);
    const known = this.state.csiFiles.get(path);
    this.state.csiFiles.set(path, { data: data ?? known?.data ?? null, isMade: makesPlace || known?.isMade === true });
    if (place.kind === 'pod') this.dataChanged(place);
    return null;
  }

  read({ place }: CsiFileOperations['read']['request']): string | null {
    return this.state.csiFiles.get(this.pathOf(place))?.data ?? null;
  }

  staged(): readonly StagedCsiVolume[] {
    const below = joinPath(this.settings.rootDirectory, 'plugins');
    return [...this.state.csiFiles].flatMap(([path, { data }]) =>
      path.startsWith(`${below}/`) && data !== null ? [{ data, isDevice: path.startsWith(`${this.devices()}/`) }] : [],
    );
  }

  prepareDevice({ volume, data }: CsiFileOperations['prepareDevice']['request']): null {
    checkName(volume);
    this.state.csiFiles.set(joinPath(this.devices(), volume, 'data'), { data, isMade: true });
    return null;
  }

  removeDevice({ volume }: CsiFileOperations['removeDevice']['request']): 'removed' | 'mounted' {
    checkName(volume);
    const places = ['staging', 'publish'].map((kind) => joinPath(this.devices(), kind, volume));
    const isMounted = [...this.state.volumeMounts.keys()].some((path) => places.some((place) => path === place || path.startsWith(`${place}/`)));
    if (isMounted) return 'mounted';
    this.state.csiFiles.delete(joinPath(this.devices(), volume, 'data'));
    return 'removed';
  }

  private devices(): string {
    return joinPath(this.settings.rootDirectory, 'plugins/kubernetes.io/csi/volumeDevices');
  }

  removeFiles({ place }: CsiFileOperations['remove']['request']): 'removed' | 'mounted' {
    const path = this.pathOf(place);
    if (this.state.volumeMounts.has(path)) return 'mounted';
    this.state.csiFiles.delete(path);
    if (place.kind === 'pod') this.dataChanged(place);
    return 'removed';
  }

  /** A restarted driver has another socket, and calls to a removed one fail as on a host. */
  private pluginAt(socket: string): SimPlugin {
    const plugin = this.state.plugins.get(socket);
    if (plugin !== undefined) return plugin;
    const cause = `connection error: desc = "transport: Error while dialing: dial unix ${socket}: connect: no such file or directory"`;
    throw new HostRefusal('unavailable', `rpc error: code = Unavailable desc = ${cause}`);
  }

  /** The plugin of a call, unless the call fails. */
  called(endpoint: string, call: SimPlugin['failures'][number]['call']): SimPlugin {
    const plugin = this.pluginAt(endpoint);
    const at = plugin.failures.findIndex((failure) => failure.call === call);
    const [failure] = at < 0 ? [] : plugin.failures.splice(at, 1);
    if (failure !== undefined) throw new HostRefusal(failure.kind, failure.message);
    return plugin;
  }

  private podMount(target: string, isMounted: boolean): void {
    const [uid = '', ...rest] = target.slice(joinPath(this.settings.rootDirectory, 'pods').length + 1).split('/');
    const mounts = this.state.podDirectories.get(uid)?.mounts;
    if (isMounted) mounts?.add(rest.join('/'));
    else mounts?.delete(rest.join('/'));
  }

  /** The data file is the content of the pod's volume directory. */
  private dataChanged({ uid, plugin, volume, inner }: Pod): void {
    const pod = this.state.podDirectories.get(uid);
    const path = `volumes/${plugin}/${volume}`;
    const has = this.state.csiFiles.has(this.pathOf({ kind: 'pod', uid, plugin, volume, inner }));
    if (has) pod?.volumeData.add(path);
    else pod?.volumeData.delete(path);
  }

  private pathOf(place: VolumePlace): string {
    const elements = place.kind === 'pod' ? ['pods', place.uid, 'volumes', place.plugin, place.volume, place.inner ?? ''] : ['plugins', ...place.elements];
    if (place.kind === 'pod' ? place.inner === null : place.elements.length < 3) throw new HostRefusal('invalid-argument', 'a CSI volume has a directory of its own');
    for (const element of elements) checkName(element);
    return joinPath(this.settings.rootDirectory, ...elements);
  }
}

/** The content of a volume's data file; null if absent. @param path `<plugin>/<volume>` */
export function csiDataOf({ csiFiles }: SimHostState, uid: string, path: string): string | null {
  for (const [place, { data }] of csiFiles) if (place.endsWith(`/pods/${uid}/volumes/${path}/mount`)) return data;
  return null;
}
