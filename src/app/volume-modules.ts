// Wiring of all that is done on the node for volumes.
import { LinuxHostPaths } from '../adapters/linux/index.js';
import { FilePodVolumes, FileSubPaths, FileVolumeMounts, mountHelperDirectories } from '../adapters/storage/index.js';
import type { Binder } from './bind-to.js';
import { tokens } from './tokens.js';

export function bindVolumes(bind: Binder): void {
  bind.to(tokens.podVolumes, [tokens.configuration, tokens.native, tokens.teardown], ({ options }, native, teardown) => {
    const volumes = FilePodVolumes.open({ rootDirectory: options.rootDir }, native.mounts, native.openBeneath);
    teardown.add('pod volumes', () => volumes.close());
    return volumes;
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
  bind.to(tokens.volumePorts, [tokens.podVolumes, tokens.volumeMounts, tokens.hostPaths, tokens.subPaths], (podVolumes, volumeMounts, hostPaths, subPaths) => ({
    podVolumes,
    volumeMounts,
    hostPaths,
    subPaths,
  }));
}
