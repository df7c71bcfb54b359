// The public exports of the storage adapter: the agent's files, and the mapping of file system errors to port errors.

export { type LabelledDirectory, makeDataDirectories, pluginDirectories } from './data-directories.js';
export { checkName } from './directory-handle.js';
export { FileBlockDevices } from './file-block-devices.js';
export { FileContainerLogs } from './file-container-logs.js';
export { FileCsiFiles } from './file-csi-files.js';
export { carryOut, errnoName, FileRefusal } from './file-errors.js';
export { FilePodDirectories, type PodDirectoryPaths } from './file-pod-directories.js';
export { FilePodLogs, type PodLogPaths } from './file-pod-logs.js';
export { FilePodVolumes, keepsTmpfsFromSwap } from './file-pod-volumes.js';
export { FileProjectQuotas, type ProjectQuotaPaths } from './file-project-quotas.js';
export { FilePullRecords } from './file-pull-records.js';
export { FileStateFiles } from './file-state-files.js';
export { FileSubPaths } from './file-sub-paths.js';
export { FileVolumeMounts, mountHelperDirectories, type VolumeMountPaths } from './file-volume-mounts.js';
export { goFileText } from './go-file-text.js';
export { nodeLogFiles } from './node-log-files.js';
export { OwnedPods } from './owned-pods.js';
export { removeWithMounts } from './remove-with-mounts.js';
export { ReplacedFiles, type ReplacedFilesOptions } from './replaced-files.js';
export { shareRootDirectory } from './root-propagation.js';
export { StateDirectory } from './state-directory.js';
export { carriedOut, stepError } from './step-errors.js';
