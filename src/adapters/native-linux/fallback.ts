// The same operations in plain Node, for machines where the addon can't be built.
// Invariant: disadvantages against the addon are in `fallbackDegradations`, which the agent logs at start as warnings.

import { fallbackDirectoryProjects } from './directory-projects.js';
import { fallbackOpenBeneath } from './fallback-beneath.js';
import { FallbackFileBatch } from './fallback-file-batch.js';
import { FallbackFileSteps } from './fallback-file-steps.js';
import { FallbackFileWatch } from './fallback-file-watch.js';
import { FallbackKernelLog } from './fallback-kernel-log.js';
import { FallbackMemoryTriggers } from './fallback-memory-triggers.js';
import { FallbackMounts } from './fallback-mounts.js';
import { FallbackFileLock, FallbackResourceLimits, FallbackServiceManager } from './fallback-process-controls.js';
import { FallbackTrees } from './fallback-trees.js';
import type { NativeLinux, NativeLinuxOptions } from './native-linux.js';

const fallbackDegradations: readonly string[] = [
  'file changes are found by scanning every second; an entry that comes and goes in between is not seen; a program that opens the lock file is not noticed',
  'the kernel log is polled every second; a burst that overruns its buffer in that time is reported as lost',
  'statistics open and close every file they read, at several times the cost',
  'directories and cgroups of pods are made and removed at several times the cost',
  'memory pressure and memory thresholds are polled, not signalled',
  'looks at file systems share four threads with everything else: four dead file servers hold up all reading of files',
  'there are no project quotas: volumes that could have them are measured by walks',
  'mounts, the lock file, resource limits and sd_notify need the programs mount, umount, flock, prlimit and systemd-notify (with NotifyAccess=all)',
];

export function fallbackNativeLinux(options: NativeLinuxOptions, reason: string): NativeLinux {
  const mounts = new FallbackMounts();
  return {
    kind: 'fallback',
    reason,
    degradations: fallbackDegradations,
    openFileWatch: (listener) => new FallbackFileWatch(listener),
    openKernelLog: () => new FallbackKernelLog(options.kernelLogPath),
    openFileBatch: (limits) => new FallbackFileBatch(limits.itemBytesMax),
    fileSteps: new FallbackFileSteps(),
    mounts,
    filesystemUsage: mounts,
    trees: new FallbackTrees(),
    projects: fallbackDirectoryProjects,
    memoryTriggers: new FallbackMemoryTriggers(),
    fileLock: new FallbackFileLock(),
    resourceLimits: new FallbackResourceLimits(),
    serviceManager: new FallbackServiceManager(options.service),
    openBeneath: fallbackOpenBeneath,
  };
}
