// The public exports of the Linux adapter: the agent's operations on the kernel's own file systems.
export { type CgroupHierarchy, type CgroupLayout, cgroupLayout, readCgroupLayout } from './cgroups/cgroup-layout.js';
export type { CgroupFilesOf, CgroupValueFile } from './cgroups/cgroup-values.js';
export { type CgroupfsOptions, CgroupfsPodCgroups } from './cgroups/cgroupfs-pod-cgroups.js';
export { type SliceNaming, type SliceSettingsOf, SystemdPodCgroups, type SystemdPodCgroupsOptions } from './cgroups/systemd-pod-cgroups.js';
export { labelPluginDirectories } from './directory-labels.js';
export { LinuxHostPaths } from './host-paths.js';
export { type HostReading, hostAddresses, readHost, readTunables } from './host-reading.js';
export { LinuxMachine, type LinuxMachineOptions } from './linux-machine.js';
export { LinuxManifestDirectory, type ManifestDirectoryOptions } from './manifest-directory.js';
export { HttpManifestUrl } from './manifest-url.js';
export { type PassingFacts, readPassingFacts, watchPassingFacts } from './passing-facts.js';
export type {
  CgroupCounters,
  CgroupDetail,
  CpuCounters,
  DeviceIo,
  MemoryCounters,
  Pressure,
} from './stats/cgroup-counters.js';
export { CgroupReader, type CgroupReaderOptions, cgroupsReadMax, type ReadCgroup, statsDescriptorsMax } from './stats/cgroup-reader.js';
export {
  type DiskCounters,
  type InterfaceCounters,
  type OpenFiles,
  parseBootTime,
  parseDiskstats,
  parseNetDev,
  parseOpenFilesLimit,
  parseTaskCount,
  textOrEmpty,
  textOrEmptyNow,
} from './stats/proc-readings.js';
export { ProcessReader, type ProcessReaderOptions } from './stats/process-reader.js';
export { processReadings } from './stats/process-readings.js';
export { directFilesUsage, type TreeUsage, treeEntriesMax, treeUsage } from './stats/tree-usage.js';
export { readSubordinateIds, type SubordinateIdsOptions } from './subordinate-ids.js';
export { SystemJournal } from './system-journal.js';
