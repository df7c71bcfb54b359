// volume-dirs: the directories of volumes, plugins and logs, and each volume plugin's properties of a volume.
import * as logs from '../../../src/domain/values/log-paths.js';
import * as directories from '../../../src/domain/values/pod-directories.js';
import { migrateToCsi } from '../../../src/domain/volumes/csi-migration.js';
import { csiUniqueVolumeName } from '../../../src/domain/volumes/csi-volume.js';
import type { Named } from '../../../src/domain/volumes/device-names.js';
import { checkHostPath, type HostPathEntry } from '../../../src/domain/volumes/host-path-type.js';
import * as plugins from '../../../src/domain/volumes/volume-plugins.js';
import { escapeName, specName, unescapeName, type VolumeSpec } from '../../../src/domain/volumes/volume-spec.js';
import type { PersistentVolume } from '../../../src/ports/model/storage.js';
import type { Volume } from '../../../src/ports/model/volume.js';
import type { VectorDriver } from '../driver.js';
import { type EntryType, ModelFileSystem, Refusal } from '../model-file-system.js';

interface Input {
  readonly kind: string;
  readonly volume?: Volume;
  readonly persistentVolume?: PersistentVolume;
  readonly readOnly?: boolean;
  readonly localPathType?: plugins.LocalPathType;
  readonly podNamespace?: string;
  readonly type?: string | null;
  readonly restartCount?: number;
  readonly [field: string]: unknown;
}
type Text = (field: string) => string;

const kinds: Readonly<Record<string, (input: Input, text: Text) => unknown>> = {
  dirs: (_, text) => directoriesOf(text('rootDir'), text('podUID'), text('pluginName'), text('volumeName'), text('containerName')),
  logPaths: (input, text) => ({
    podLogDirectory: logs.podLogDirectory(text('podLogsDir'), text('namespace'), text('pod'), text('uid')),
    containerLogDirectory: logs.containerLogDirectory(text('podLogsDir'), text('namespace'), text('pod'), text('uid'), text('container')),
    logPathInSandboxDir: logs.containerLogPath(text('container'), input.restartCount ?? 0),
    containersSymlink: logs.legacyLogSymlink(text('containerID'), text('container'), text('pod'), text('namespace')),
  }),
  parseContainersSymlink: (_, text) => {
    const read = logs.containerIdOfSymlink(text('name'));
    return read.kind === 'ok' ? { containerID: read.value } : { error: read.message };
  },
  parsePodLogDirectoryName: (_, text) => ({ uid: logs.podUidOfLogDirectory(text('name')) }),
  plugin: (input, text) => plugin(input, text('rootDir'), text('podUID')),
  hostPathType: (input, text) => hostPathType(input.type ?? null, text('path')),
  migrate: (input) => migrate(input),
};

function directoriesOf(root: string, uid: string, plugin: string, volume: string, container: string): unknown {
  const escaped = escapeName(plugin);
  const pluginDirectory = directories.nodePluginDirectory(root, plugin);
  return {
    pods: directories.podsDirectory(root),
    pod: directories.podDirectory(root, uid),
    podVolumes: directories.podVolumesDirectory(root, uid),
    podVolume: directories.podVolumeDirectory(root, uid, escaped, volume),
    podVolumeDevices: directories.podVolumeDevicesDirectory(root, uid),
    podVolumeDevice: directories.podVolumeDeviceDirectory(root, uid, escaped),
    podPlugins: directories.podPluginsDirectory(root, uid),
    podPlugin: directories.podPluginDirectory(root, uid, escaped),
    podContainer: directories.podContainerDirectory(root, uid, container),
    podVolumeSubpaths: directories.podSubpathsDirectory(root, uid),
    plugins: directories.nodePluginsDirectory(root),
    pluginDir: pluginDirectory,
    volumeDevicePluginDir: directories.nodeVolumeDevicesDirectory(root, plugin),
    pluginsRegistry: directories.pluginRegistrationDirectory(root),
    podResources: directories.podResourcesDirectory(root),
    checkpoints: directories.checkpointsDirectory(root),
    escapedPluginName: escaped,
    unescaped: unescapeName(escaped),
  };
}

function specOf({ volume, persistentVolume, readOnly = false }: Input): VolumeSpec {
  return volume !== undefined ? { kind: 'inline', volume, readOnly } : { kind: 'persistent', persistentVolume: persistentVolume!, readOnly };
}

function named(name: string, result: Named): Record<string, string> {
  return result.ok ? { [name]: result.value } : { [`${name}Error`]: result.message };
}

function plugin(input: Input, rootDirectory: string, podUid: string): unknown {
  const spec = specOf(input);
  const found = plugins.volumePluginFor(spec);
  if (found === null) return { error: plugins.noPluginMatched };
  const { attachable, deviceMountable, supportsBlock, supportsMountOptions, requiresRemount } = found;
  const place = { rootDirectory, podUid, localPathType: input.localPathType ?? null };
  const common = {
    pluginName: found.name,
    specName: specName(spec),
    volumeName: found.volumeName(spec),
    ...named('uniqueVolumeName', plugins.uniqueVolumeName(found, spec, podUid)),
    attachable,
    deviceMountable,
    supportsBlock,
    supportsMountOptions,
    requiresRemount,
    ...(found.name === 'kubernetes.io/git-repo' ? { setUpError: plugins.gitRepoDisabled } : {}),
  };
  if (plugins.isBlockVolume(found, spec)) return { ...common, block: plugins.blockPlaces(found, spec, place) };
  const device = plugins.deviceMountPath(found, spec, place);
  const seen = plugins.volumeView(found, spec, place);
  return { ...common, ...(device === null ? {} : named('deviceMountPath', device)), ...(seen.ok ? seen.view : { mounterError: seen.message }) };
}

function hostPathType(type: string | null, path: string): unknown {
  const files = ModelFileSystem.of('/dev', [{ path: 'null', type: 'char' }]);
  const link = (name: string, target: string) => ({ path: name, type: 'symlink' as const, target });
  const layout = [
    { path: 'directory', type: 'dir' as const },
    { path: 'file', type: 'file' as const },
    { path: 'socket', type: 'socket' as const },
    { path: 'fifo', type: 'fifo' as const },
    link('link-to-directory', 'directory'),
    link('link-to-file', 'file'),
    link('link-to-socket', 'socket'),
    link('link-to-null', '/dev/null'),
    link('dangling', 'missing-target'),
  ];
  for (const [at, entry] of ModelFileSystem.of('/dir', layout).entries) files.entries.set(at, entry);
  const before = new Set(files.entries.keys());
  const real = path.replaceAll('<dir>', '/dir');
  const shown = (text: string): string => text.replaceAll('/dir/', '<dir>/');
  const types: Readonly<Record<EntryType, HostPathEntry>> = {
    dir: 'directory',
    file: 'file',
    socket: 'socket',
    char: 'char-device',
    block: 'block-device',
    fifo: 'other',
    symlink: 'other',
  };
  const found = files.resolve(real);
  const check = checkHostPath(real, type, found.kind === 'found' ? types[files.entries.get(found.path)!.type] : 'absent');
  let error = check.kind === 'refused' ? check.message : null;
  try {
    if (check.kind === 'make-directory') files.makeDirectories(check.path, check.mode);
    if (check.kind === 'create-file') files.createFile(check.path, check.mode);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    error = refusal.message;
  }
  const created = [...files.entries].filter(([at]) => !before.has(at)).map(([at, { type: made, mode }]) => `${shown(at)} ${permissions(made, mode)}`);
  return { created, ...(error === null ? {} : { error: shown(error) }) };
}

function permissions(type: EntryType, mode: number): string {
  const bits = [...mode.toString(2).padStart(9, '0')].map((bit, i) => (bit === '1' ? 'rwx'[i % 3] : '-'));
  return `${type === 'dir' ? 'd' : '-'}${bits.join('')}`;
}

function migrate(input: Input): unknown {
  const spec = specOf(input);
  const result = migrateToCsi(spec, input.podNamespace ?? '');
  if (result.kind === 'not-migrated') return { migrated: false };
  if (result.kind === 'failed') return { error: result.message };
  const { metadata, spec: volume } = result.spec.persistentVolume;
  const { accessModes, volumeMode, csi } = volume;
  return {
    migrated: true,
    inline: spec.kind === 'inline',
    persistentVolume: { name: metadata.name, accessModes, volumeMode, csi },
    ...named('uniqueVolumeName', csiUniqueVolumeName(result.spec, '')),
  };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const kind = kinds[input.kind];
    if (kind === undefined) throw new Error(`unknown kind ${input.kind}`);
    return kind(input, (field) => (input[field] as string | undefined) ?? '');
  },
};
