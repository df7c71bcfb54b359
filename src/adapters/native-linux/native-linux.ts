// The interface of the native adapter, with or without the addon.

import type { PortOf } from '../../ports/operation.js';
import type { FileWatch, FileWatchListener } from '../../ports/outbound/file-watch.js';
import type { FilesystemUsageOperations } from '../../ports/outbound/filesystem-usage.js';
import type { KernelLog } from '../../ports/outbound/kernel-log.js';
import type { MemoryTriggers } from '../../ports/outbound/memory-triggers.js';
import type { MountOperations } from '../../ports/outbound/mounts.js';
import type { OpenBeneath } from './beneath.js';
import type { DirectoryProjects } from './directory-projects.js';
import type { FileBatchReader } from './file-batch-reader.js';
import type { FileStepRunner } from './file-steps.js';
import type { FileBatchLimits } from './native-file-batch.js';
import type { ServiceEnvironment } from './native-process-controls.js';
import type { FileLock, ResourceLimits, ServiceManager } from './process-controls.js';
import type { Trees } from './trees.js';

export interface NativeLinuxOptions {
  /** /dev/kmsg, or a substitute. */
  readonly kernelLogPath: string;
  readonly service: ServiceEnvironment;
}

/** Nothing here keeps the process alive by itself. */
export interface NativeLinux {
  readonly kind: 'addon' | 'fallback';
  /** Why it is the fallback; empty for the addon. */
  readonly reason: string;
  /** Disadvantages against the addon, a sentence each, to be logged as warnings. */
  readonly degradations: readonly string[];
  openFileWatch(listener: FileWatchListener): FileWatch;
  openKernelLog(): KernelLog;
  openFileBatch(limits: FileBatchLimits): FileBatchReader;
  readonly fileSteps: FileStepRunner;
  readonly mounts: PortOf<MountOperations>;
  readonly filesystemUsage: PortOf<FilesystemUsageOperations>;
  readonly trees: Trees;
  readonly projects: DirectoryProjects;
  readonly memoryTriggers: MemoryTriggers;
  readonly fileLock: FileLock;
  readonly resourceLimits: ResourceLimits;
  readonly serviceManager: ServiceManager;
  readonly openBeneath: OpenBeneath;
}
