// Wiring of all that is done on the node for volumes.
import { NodePodCertificateKeys } from '../adapters/certificates/index.js';
import { joining } from '../adapters/decorators/index.js';
import { LinuxHostPaths } from '../adapters/linux/index.js';
import { noDirectoryProjects } from '../adapters/native-linux/index.js';
import { GrpcCsiNode, GrpcDraPlugin, UnixPluginSockets } from '../adapters/plugins/index.js';
import { FileBlockDevices, FileCsiFiles, FilePodVolumes, FileProjectQuotas, FileSubPaths, FileVolumeMounts, mountHelperDirectories } from '../adapters/storage/index.js';
import { pluginRegistrationDirectory } from '../domain/values/pod-directories.js';
import type { Binder } from './bind-to.js';
import { tokens } from './tokens.js';

export function bindVolumes(bind: Binder): void {
  bind.to(tokens.podVolumes, [tokens.configuration, tokens.native, tokens.teardown], ({ options }, native, teardown) => {
    const volumes = FilePodVolumes.open({ rootDirectory: options.rootDir }, native.mounts, native.openBeneath);
    teardown.add('pod volumes', () => volumes.close());
    return joining('podVolumes', volumes, ['tearDown', 'list']);
  });
  bind.to(tokens.volumeMounts, [tokens.configuration, tokens.native, tokens.teardown], ({ options }, native, teardown) => {
    const mounts = FileVolumeMounts.open({ rootDirectory: options.rootDir, helperDirectories: mountHelperDirectories }, native.mounts, native.trees);
    teardown.add('volume mounts', () => mounts.close());
    return mounts;
  });
  bind.to(tokens.hostPaths, [tokens.native], (native) => new LinuxHostPaths(native.trees));
  bind.to(tokens.subPaths, [tokens.configuration, tokens.native, tokens.teardown], ({ options }, native, teardown) => {
    const subPaths = FileSubPaths.open({ rootDirectory: options.rootDir }, native.mounts, native.trees);
    teardown.add('sub paths', () => subPaths.close());
    return subPaths;
  });
  bind.to(tokens.pluginSockets, [tokens.configuration, tokens.native, tokens.inbox, tokens.teardown], ({ options }, native, inbox, teardown) => {
    const directory = pluginRegistrationDirectory(options.rootDir);
    const sockets = new UnixPluginSockets({ directory, openFileWatch: (listener) => native.openFileWatch(listener), deliver: (event) => inbox.deliver(event) });
    teardown.add('plugin sockets', () => sockets.close());
    return sockets;
  });
  bindPluginCalls(bind);
  bind.to(tokens.csiFiles, [tokens.configuration, tokens.teardown], ({ options }, teardown) => {
    const files = FileCsiFiles.open({ rootDirectory: options.rootDir });
    teardown.add('files of CSI volumes', () => files.close());
    return files;
  });
  bind.to(tokens.blockDevices, [tokens.configuration, tokens.native, tokens.teardown], ({ options }, native, teardown) => {
    const devices = FileBlockDevices.open({ rootDirectory: options.rootDir, programDirectories: mountHelperDirectories }, native.mounts);
    teardown.add('block devices', () => devices.close());
    return devices;
  });
  bind.to(tokens.projectQuotas, [tokens.configuration, tokens.profile, tokens.native], ({ options }, { projectFilesDirectory }, native) => {
    const kernel = projectFilesDirectory === null ? noDirectoryProjects('this agent may not record projects of the host') : native.projects;
    return new FileProjectQuotas({ rootDirectory: options.rootDir, filesDirectory: projectFilesDirectory ?? '/etc' }, kernel, native.fileLock);
  });
  bind.to(tokens.podCertificateKeys, [], () => new NodePodCertificateKeys());
}

function bindPluginCalls(bind: Binder): void {
  bind.to(tokens.csiNode, [], () => new GrpcCsiNode());
  bind.to(tokens.draPlugin, [], () => new GrpcDraPlugin());
}
