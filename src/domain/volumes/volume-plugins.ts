// The volume plugins: the plugin of a volume, its name on the node, and its mount for containers.
// Invariant: a volume has at most one plugin; names don't change while a pod exists, since they are keys of the state.
import { goList, goQuote } from '../values/go-text.js';
import { nodePluginDirectory, podVolumeDeviceDirectory, podVolumeDirectory } from '../values/pod-directories.js';
import { joinPath } from '../values/slash-paths.js';
import { csiTargetPath, isCsiSource } from './csi-volume.js';
import { type FcSource, fcDevice, type IscsiSource, iscsiDevice, type Named } from './device-names.js';
import { escapeName, specName, type VolumeSpec } from './volume-spec.js';

export interface VolumePlugin {
  readonly name: string;
  /** Whether it is this plugin's volume. */
  readonly supports: (spec: VolumeSpec) => boolean;
  /** The plugin's own ID of the volume; `''` for none. */
  readonly volumeName: (spec: VolumeSpec) => string;
  /** Has to be attached to the node first. For CSI it depends on the driver's object, too. */
  readonly attachable: boolean;
  /** Is mounted once a node, and bound from there for each pod. */
  readonly deviceMountable: boolean;
  readonly supportsBlock: boolean;
  readonly supportsMountOptions: boolean;
  /** Is set up again on every sync of the pod, to show changes. */
  readonly requiresRemount: boolean;
}

/** A mounted volume for a container. */
export interface VolumeView {
  /** `''`: nothing on the host, the runtime mounts it itself. */
  readonly path: string;
  readonly readOnly: boolean;
  /** Its ownership and labels are the kubelet's to change. */
  readonly managed: boolean;
  readonly seLinuxRelabel: boolean;
}

export type LocalPathType = 'directory' | 'block' | 'file';

export interface VolumePlace {
  readonly rootDirectory: string;
  readonly podUid: string;
  /** The file type at a local volume's path; null for others. */
  readonly localPathType: LocalPathType | null;
}

const plain = { attachable: false, deviceMountable: false, supportsBlock: false, supportsMountOptions: false, requiresRemount: false };
const disk = { attachable: true, deviceMountable: true, supportsBlock: true, supportsMountOptions: true, requiresRemount: false };
const apiData = { ...plain, requiresRemount: true };

/** A source of the pod's volume or of the persistent volume, as on the wire. */
function source<T>(spec: VolumeSpec, name: string): T | undefined {
  const holder: Readonly<Record<string, unknown>> = spec.kind === 'inline' ? spec.volume : spec.persistentVolume.spec;
  return (holder[name] ?? undefined) as T | undefined;
}

const inline = (name: string) => (spec: VolumeSpec) => spec.kind === 'inline' && source(spec, name) !== undefined;
const either = (name: string) => (spec: VolumeSpec) => source(spec, name) !== undefined;
const persistent = (name: string) => (spec: VolumeSpec) => spec.kind === 'persistent' && source(spec, name) !== undefined;

interface GitRepo {
  readonly repository?: string;
  readonly revision?: string;
  readonly directory?: string;
}

export const volumePlugins: readonly VolumePlugin[] = [
  { name: 'kubernetes.io/empty-dir', supports: inline('emptyDir'), volumeName: specName, ...plain },
  { name: 'kubernetes.io/git-repo', supports: inline('gitRepo'), volumeName: gitRepoName, ...plain },
  { name: 'kubernetes.io/host-path', supports: either('hostPath'), volumeName: hostPathOf, ...plain },
  { name: 'kubernetes.io/nfs', supports: either('nfs'), volumeName: nfsName, ...plain, supportsMountOptions: true },
  { name: 'kubernetes.io/secret', supports: inline('secret'), volumeName: (spec) => source<{ secretName?: string }>(spec, 'secret')?.secretName ?? '', ...apiData },
  { name: 'kubernetes.io/iscsi', supports: either('iscsi'), volumeName: iscsiName, ...disk },
  { name: 'kubernetes.io/downward-api', supports: inline('downwardAPI'), volumeName: specName, ...apiData },
  { name: 'kubernetes.io/fc', supports: either('fc'), volumeName: fcName, ...disk },
  {
    name: 'kubernetes.io/configmap',
    supports: inline('configMap'),
    volumeName: (spec) => `${specName(spec)}/${source<{ name?: string }>(spec, 'configMap')?.name ?? ''}`,
    ...apiData,
  },
  { name: 'kubernetes.io/projected', supports: inline('projected'), volumeName: specName, ...apiData },
  { name: 'kubernetes.io/local-volume', supports: persistent('local'), volumeName: specName, ...disk, attachable: false },
  { name: 'kubernetes.io/csi', supports: isCsiSource, volumeName: csiName, ...disk },
  { name: 'kubernetes.io/image', supports: inline('image'), volumeName: (spec) => source<{ reference?: string }>(spec, 'image')?.reference ?? '', ...plain },
];

export const noPluginMatched = 'no volume plugin matched';
export const gitRepoDisabled = 'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`';

/** null: no plugin supports it. Callers resolve claims and convert in-tree cloud disks to CSI volumes first. */
export function volumePluginFor(spec: VolumeSpec): VolumePlugin | null {
  return volumePlugins.find((plugin) => plugin.supports(spec)) ?? null;
}

/** Names of the plugins that support the volume, if there are several; null: at most one does. */
export function rivalPlugins(spec: VolumeSpec): readonly string[] | null {
  const names = volumePlugins.flatMap(({ name, supports }) => (supports(spec) ? [name] : []));
  return names.length > 1 ? names : null;
}

/** The key of the volume in the node's state: shared by all pods where a device is, else a pod's own. */
export function uniqueVolumeName(plugin: VolumePlugin, spec: VolumeSpec, podUid: string): Named {
  const isShared = plugin.name === 'kubernetes.io/csi' ? spec.kind === 'persistent' : plugin.attachable || plugin.deviceMountable;
  if (!isShared) return { ok: true, value: `${plugin.name}/${podUid}-${specName(spec)}` };
  const name = plugin.volumeName(spec);
  if (name !== '') return { ok: true, value: `${plugin.name}/${name}` };
  return { ok: false, message: `failed to GetVolumeName from volumePlugin for volumeSpec ${goQuote(specName(spec))} err=<nil>` };
}

/** Whether containers get it as a raw device. */
export function isBlockVolume(plugin: VolumePlugin, spec: VolumeSpec): boolean {
  return plugin.supportsBlock && spec.kind === 'persistent' && spec.persistentVolume.spec.volumeMode === 'Block';
}

/** The node's mount path of a device-mountable volume; null for CSI, see `csi-volume.ts`, and for plugins without devices. */
export function deviceMountPath(plugin: VolumePlugin, spec: VolumeSpec, { rootDirectory, localPathType }: VolumePlace): Named | null {
  if (plugin.name === 'kubernetes.io/local-volume') {
    const path = source<{ path?: string }>(spec, 'local')?.path ?? '';
    if (path === '') return { ok: false, message: 'local volume source is nil or local path is not set' };
    if (localPathType === 'directory') return { ok: true, value: path };
    if (localPathType !== 'block') return { ok: false, message: 'only directory and block device are supported' };
    return { ok: true, value: joinPath(nodePluginDirectory(rootDirectory, plugin.name), 'mounts', specName(spec)) };
  }
  const device = deviceOf(plugin, spec);
  if (device === null || !device.ok) return device;
  return { ok: true, value: joinPath(nodePluginDirectory(rootDirectory, plugin.name), device.value) };
}

/** A file system volume for containers, or the reason why it can't be mounted. */
export function volumeView(
  plugin: VolumePlugin,
  spec: VolumeSpec,
  place: VolumePlace,
): { readonly ok: true; readonly view: VolumeView } | { readonly ok: false; readonly message: string } {
  const own = podVolumeDirectory(place.rootDirectory, place.podUid, escapeName(plugin.name), specName(spec));
  const view = (path: string, readOnly: boolean, managed: boolean, seLinuxRelabel: boolean) => ({ ok: true as const, view: { path, readOnly, managed, seLinuxRelabel } });
  const asked = spec.readOnly === true;
  switch (plugin.name) {
    case 'kubernetes.io/host-path':
      return view(hostPathOf(spec), asked, false, false);
    case 'kubernetes.io/image':
      return view('', true, false, false);
    case 'kubernetes.io/nfs':
      return view(own, readOnlyOf(spec, 'nfs'), false, false);
    case 'kubernetes.io/empty-dir':
    case 'kubernetes.io/git-repo':
      return view(own, false, true, true);
    case 'kubernetes.io/csi': {
      const readOnly = readOnlyOf(spec, 'csi');
      return view(csiTargetPath(place.rootDirectory, place.podUid, spec), readOnly, !readOnly, true);
    }
    case 'kubernetes.io/iscsi':
    case 'kubernetes.io/fc':
    case 'kubernetes.io/local-volume': {
      // A mount of iSCSI is made without its device's path.
      const device = plugin.name === 'kubernetes.io/iscsi' ? null : deviceMountPath(plugin, spec, place);
      if (device?.ok === false) return device;
      const readOnly = plugin.name === 'kubernetes.io/local-volume' ? asked : readOnlyOf(spec, plugin.name === 'kubernetes.io/fc' ? 'fc' : 'iscsi');
      return view(own, readOnly, !readOnly, true);
    }
    default:
      return view(own, true, true, true);
  }
}

export interface BlockPlaces {
  readonly globalMapPath: string;
  readonly podDeviceMapDirectory: string;
  readonly podDeviceLinkName: string;
}

/** The map paths of a raw device of iscsi, fc or a local volume. */
export function blockPlaces(plugin: VolumePlugin, spec: VolumeSpec, { rootDirectory, podUid }: VolumePlace): BlockPlaces {
  const isLocal = plugin.name === 'kubernetes.io/local-volume';
  // Local volumes escape the plugin's name here, though not in their mounts: the paths keep their established form.
  const directory = nodePluginDirectory(rootDirectory, isLocal ? escapeName(plugin.name) : plugin.name);
  const device = deviceOf(plugin, spec);
  return {
    globalMapPath: joinPath(directory, 'volumeDevices', device?.ok === true ? device.value : specName(spec)),
    podDeviceMapDirectory: podVolumeDeviceDirectory(rootDirectory, podUid, escapeName(plugin.name)),
    podDeviceLinkName: specName(spec),
  };
}

/** The last part of a device's paths; null for plugins without such devices. */
function deviceOf(plugin: VolumePlugin, spec: VolumeSpec): Named | null {
  const isIscsi = plugin.name === 'kubernetes.io/iscsi';
  if (!isIscsi && plugin.name !== 'kubernetes.io/fc') return null;
  const device: Named = isIscsi ? { ok: true, value: iscsiDevice(source<IscsiSource>(spec, 'iscsi')!) } : fcDevice(source<FcSource>(spec, 'fc')!);
  if (!device.ok || spec.kind === 'inline' || spec.persistentVolume.spec.volumeMode !== undefined) return device;
  return { ok: false, message: `cannot get volumeMode for volume: ${specName(spec)}` };
}

/** An inline source's own flag, or the claim's. */
function readOnlyOf(spec: VolumeSpec, name: string): boolean {
  return spec.kind === 'inline' ? source<{ readOnly?: boolean }>(spec, name)?.readOnly === true : spec.readOnly;
}

function gitRepoName(spec: VolumeSpec): string {
  const { repository = '', revision = '', directory = '' } = source<GitRepo>(spec, 'gitRepo')!;
  return `${repository}:${revision}:${directory}`;
}

function hostPathOf(spec: VolumeSpec): string {
  return source<{ path?: string }>(spec, 'hostPath')?.path ?? '';
}

function nfsName(spec: VolumeSpec): string {
  const { server = '', path = '' } = source<{ server?: string; path?: string }>(spec, 'nfs')!;
  return `${server}/${path}`;
}

function iscsiName(spec: VolumeSpec): string {
  const { targetPortal = '', iqn = '', lun = 0 } = source<IscsiSource>(spec, 'iscsi')!;
  return `${targetPortal}:${iqn}:${lun}`;
}

function fcName(spec: VolumeSpec): string {
  const { targetWWNs = [], wwids = [], lun } = source<FcSource>(spec, 'fc')!;
  if (targetWWNs.length > 0 && lun !== undefined) return `${goList(targetWWNs)}:${lun}`;
  return wwids.length > 0 ? goList(wwids) : '';
}

function csiName(spec: VolumeSpec): string {
  const { driver = '', volumeHandle = '' } = source<{ driver?: string; volumeHandle?: string }>(spec, 'csi')!;
  return `${driver}^${volumeHandle}`;
}
