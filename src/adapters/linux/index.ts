// The face of the Linux adapter: what the agent does with the kernel's own file systems.
export { type CgroupHierarchy, type CgroupLayout, cgroupLayout, readCgroupLayout } from './cgroups/cgroup-layout.js';
export { type CgroupfsOptions, CgroupfsPodCgroups } from './cgroups/cgroupfs-pod-cgroups.js';
export { LinuxHostPaths } from './host-paths.js';
export { type HostReading, hostAddresses, readHost, readTunables } from './host-reading.js';
export { LinuxMachine, type LinuxMachineOptions } from './linux-machine.js';
export { LinuxManifestDirectory, type ManifestDirectoryOptions } from './manifest-directory.js';
export { HttpManifestUrl } from './manifest-url.js';
