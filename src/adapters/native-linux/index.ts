// The face of the native adapter: everything that the kernel offers and Node doesn't, through the addon or, loudly, without it.
import { nativeOpenBeneath } from './beneath.js';
import type { NativeBinding } from './binding.d.ts';
import { fallbackNativeLinux } from './fallback.js';
import { loadBinding } from './loader.js';
import { NativeDirectoryProjects } from './native-directory-projects.js';
import { NativeFileBatch } from './native-file-batch.js';
import { NativeFileSteps } from './native-file-steps.js';
import { NativeFileWatch } from './native-file-watch.js';
import { NativeKernelLog } from './native-kernel-log.js';
import type { NativeLinux, NativeLinuxOptions } from './native-linux.js';
import { NativeMemoryTriggers } from './native-memory-triggers.js';
import { NativeMounts } from './native-mounts.js';
import { NativeFileLock, NativeResourceLimits, NativeServiceManager } from './native-process-controls.js';
import { NativeTrees } from './native-trees.js';

export type { BeneathFile, BeneathOptions, OpenBeneath } from './beneath.js';
export { openPathFlag } from './beneath.js';
export { type DirectoryProject, type DirectoryProjects, noDirectoryProjects, type ProjectCount, quotaRefusal } from './directory-projects.js';
export { FallbackFileSteps } from './fallback-file-steps.js';
export { byPath, type FileStep, type FileStepOutcomes, type FileStepRunner, FileSteps, listedEntries, notDone, type StepIndex, type StepRoot, tolerated } from './file-steps.js';
export { type MountinfoEntry, parseMountinfo } from './mountinfo.js';
export type { FileBatchLimits } from './native-file-batch.js';
export type { NativeLinux, NativeLinuxOptions } from './native-linux.js';
export { type ServiceEnvironment, serviceEnvironmentOf } from './native-process-controls.js';
export type { FileBatchNumbers, NumberForm } from './number-form.js';
export { settleProcess } from './own-process.js';
export type { FileLock } from './process-controls.js';
export { holdLockFile, lockRootDirectory } from './process-locks.js';
export type { PathStatus, TreeOwnership, Trees, TreeUsage } from './trees.js';
export { checkWatchdog, Watchdog } from './watchdog.js';

/** The addon if this installation has one, else the fallback. With `required`, or REQUIRE_NATIVE=1 in the environment, the addon's absence is an error. */
export function openNativeLinux(options: NativeLinuxOptions, required: boolean): NativeLinux {
  const loaded = loadBinding(required);
  return loaded.kind === 'addon' ? addonNativeLinux(loaded.binding, options) : fallbackNativeLinux(options, loaded.reason);
}

export function addonNativeLinux(binding: NativeBinding, options: NativeLinuxOptions): NativeLinux {
  const mounts = new NativeMounts(binding);
  return {
    kind: 'addon',
    reason: '',
    degradations: [],
    openFileWatch: (listener) => new NativeFileWatch(binding, listener),
    openKernelLog: () => new NativeKernelLog(binding, options.kernelLogPath),
    openFileBatch: (limits) => new NativeFileBatch(binding, limits),
    fileSteps: new NativeFileSteps(binding),
    mounts,
    filesystemUsage: mounts,
    trees: new NativeTrees(binding),
    projects: new NativeDirectoryProjects(binding),
    memoryTriggers: new NativeMemoryTriggers(binding),
    fileLock: new NativeFileLock(binding),
    resourceLimits: new NativeResourceLimits(binding),
    serviceManager: new NativeServiceManager(binding, options.service),
    openBeneath: nativeOpenBeneath(binding),
  };
}
