// Identifiers and file locations.

import { containerHash } from '../../../src/domain/values/container-hash.js';
import * as logs from '../../../src/domain/values/log-paths.js';
import * as directories from '../../../src/domain/values/pod-directories.js';
import * as references from '../../../src/domain/values/pod-references.js';
import type { Container } from '../../../src/ports/model/container.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly kind: string;
  readonly container: string;
  readonly [field: string]: unknown;
}

type Kind = (input: Input, text: (field: string) => string) => unknown;

function readBack<T>(read: logs.ReadBack<T>, show: (value: T) => unknown): unknown {
  return read.kind === 'ok' ? show(read.value) : { error: read.message };
}

const kinds: Readonly<Record<string, Kind>> = {
  containerHash: (input) => ({ hash: containerHash(input['container'] as unknown as Container) }),
  podLogDirectory: (_, text) => ({ path: logs.podLogDirectory(text('podLogsDir'), text('namespace'), text('name'), text('uid')) }),
  containerLogDirectory: (_, text) => ({ path: logs.containerLogDirectory(text('podLogsDir'), text('namespace'), text('name'), text('uid'), text('container')) }),
  containerLogPath: (input, text) => ({ path: logs.containerLogPath(text('container'), input['restartCount'] as number) }),
  legacyLogSymlink: (_, text) => ({ path: logs.legacyLogSymlink(text('containerId'), text('container'), text('podName'), text('namespace')) }),
  containerIdOfSymlink: (_, text) => readBack(logs.containerIdOfSymlink(text('path')), (containerId) => ({ containerId })),
  podUidOfLogDirectory: (_, text) => ({ uid: logs.podUidOfLogDirectory(text('directory')) }),
  restartCountOfLogDirectory: (input) => ({ restartCount: logs.restartCountOfLogDirectory((input['files'] as readonly string[] | null) ?? []) }),
  parsePodFullName: (_, text) => readBack(references.parsePodFullName(text('fullName')), (value) => value),
  podReferenceText: (_, text) => ({
    text: references.podReferenceText(text('name'), text('namespace'), text('uid')),
    fullName: references.podFullName(text('name'), text('namespace')),
  }),
  parseContainerId: (_, text) => readBack(references.parseContainerId(text('text')), (value) => value),
  containerEventFieldPath: (input) => ({ fieldPath: references.containerFieldPath(input['pod'] as Pod, input.container) }),
  podDirectories: (_, text) => podDirectories(text('rootDir'), text('uid'), text('container'), text('plugin'), text('volume')),
};

function podDirectories(root: string, uid: string, container: string, plugin: string, volume: string): unknown {
  return {
    pods: directories.podsDirectory(root),
    pod: directories.podDirectory(root, uid),
    volumes: directories.podVolumesDirectory(root, uid),
    volume: directories.podVolumeDirectory(root, uid, plugin, volume),
    volumeDevices: directories.podVolumeDevicesDirectory(root, uid),
    volumeDevice: directories.podVolumeDeviceDirectory(root, uid, plugin),
    plugins: directories.podPluginsDirectory(root, uid),
    plugin: directories.podPluginDirectory(root, uid, plugin),
    container: directories.podContainerDirectory(root, uid, container),
    etcHosts: directories.podEtcHostsFile(root, uid),
    subpaths: directories.podSubpathsDirectory(root, uid),
    nodePlugins: directories.nodePluginsDirectory(root),
    nodePlugin: directories.nodePluginDirectory(root, plugin),
    pluginRegistration: directories.pluginRegistrationDirectory(root),
    podResources: directories.podResourcesDirectory(root),
    checkpoints: directories.checkpointsDirectory(root),
  };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const kind = kinds[input.kind];
    if (kind === undefined) throw new Error(`unknown kind ${input.kind}`);
    return kind(input, (field) => (input[field] as string | undefined) ?? '');
  },
};
