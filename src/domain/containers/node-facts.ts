// Inputs of the configuration of sandboxes and containers, besides the pod: the kubelet's settings and its host.
// Plain data, replaced when a part of it changes; nothing is read while a configuration is made.
import type { ResourceList } from '../../ports/model/container.js';
import type { CgroupDriver } from '../cgroups/cgroup-name.js';
import type { ResourceFacts } from '../cgroups/resource-facts.js';
import type { DnsFacts } from '../dns/pod-dns.js';
import type { NodeAddress } from '../status/pod-addresses.js';

/** A handler of the runtime, with its features; `''` is its default one. */
export interface RuntimeHandlerFacts {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface NodeFacts extends ResourceFacts, DnsFacts {
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  /** In cgroupfs form for both drivers. */
  readonly cgroupRoot: string;
  readonly cgroupDriver: CgroupDriver;
  /** Without a cgroup per class and pod the runtime gets no parent. */
  readonly cgroupsPerQos: boolean;
  /** Processes a pod may have; none when not above 0. */
  readonly podPidsLimit: number;
  /** Text of the node's own hosts file, which host-network pods get a copy of. */
  readonly hostsFile: string;
  /** Uses RuntimeDefault for pods without a seccomp profile. */
  readonly seccompDefault: boolean;
  readonly selinuxEnabled: boolean;
  /** The SELinux label of containers' files on this host, without a pod's categories; '': unknown. */
  readonly seLinuxFileLabel: string;
  /** The gate SELinuxMount: volumes of all access modes are mounted with a label, not only those of one pod. */
  readonly seLinuxMount: boolean;
  /** The gate LocalStorageCapacityIsolationFSQuotaMonitoring: volumes of pods in user namespaces are measured by project quotas. */
  readonly projectQuotas: boolean;
  /** Swap is on, and a tmpfs may be swapped out. */
  readonly memoryVolumesMaySwap: boolean;
  /** The gate ContainerStopSignals: containers may set their stop signal. */
  readonly containerStopSignals: boolean;
  /** The gate ChangeContainerStatusOnKubeletRestart: ignores the `started` and `ready` values that an earlier kubelet reported. */
  readonly changesStatusOnRestart: boolean;
  /** `/sys/devices/system/cpu/cpu<N>/thermal_throttle` of each CPU that has it: hidden from containers. */
  readonly thermalThrottlePaths: readonly string[];
  /** RuntimeClass objects: name to handler. */
  readonly runtimeClasses: Readonly<Record<string, string>>;
  readonly runtimeHandlers: readonly RuntimeHandlerFacts[];
  /** Addresses of the node object. */
  readonly nodeAddresses: readonly NodeAddress[];
  /** Replaces missing limits in the downward API. */
  readonly allocatable: ResourceList;
}
