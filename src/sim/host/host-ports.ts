// The ports that a simulated host answers: all that an agent asks of its node besides the runtime.
import type { Flattened } from '../../ports/operation.js';
import type { BlockDeviceOperations } from '../../ports/outbound/block-devices.js';
import type { ContainerLogOperations } from '../../ports/outbound/container-logs.js';
import type { CsiFileOperations } from '../../ports/outbound/csi-files.js';
import type { CsiNodeOperations } from '../../ports/outbound/csi-node.js';
import type { DraPluginOperations } from '../../ports/outbound/dra-plugin.js';
import type { EventSinkOperations } from '../../ports/outbound/event-sink.js';
import type { FilesystemUsageOperations } from '../../ports/outbound/filesystem-usage.js';
import type { MachineOperations } from '../../ports/outbound/machine.js';
import type { NodeShutdownOperations } from '../../ports/outbound/node-shutdown.js';
import type { NodeStatsOperations } from '../../ports/outbound/node-stats.js';
import type { PluginSocketOperations } from '../../ports/outbound/plugin-sockets.js';
import type { PodCertificateKeyOperations } from '../../ports/outbound/pod-certificate-keys.js';
import type { PodCgroupOperations, PodDirectoryOperations, PodLogOperations } from '../../ports/outbound/pod-files.js';
import type { HostPathOperations, PodVolumeOperations, SubPathOperations } from '../../ports/outbound/pod-volumes.js';
import type { ProjectQuotaOperations } from '../../ports/outbound/project-quotas.js';
import type { PullRecordOperations } from '../../ports/outbound/pull-records.js';
import type { RegistryCredentialOperations } from '../../ports/outbound/registry-credentials.js';
import type { StateFileOperations } from '../../ports/outbound/state-files.js';
import type { VolumeMountOperations } from '../../ports/outbound/volume-mounts.js';

export interface HostPorts {
  readonly podDirectories: PodDirectoryOperations;
  readonly podVolumes: PodVolumeOperations;
  readonly volumeMounts: VolumeMountOperations;
  readonly pluginSockets: PluginSocketOperations;
  readonly csiNode: CsiNodeOperations;
  readonly csiFiles: CsiFileOperations;
  readonly draPlugin: DraPluginOperations;
  readonly blockDevices: BlockDeviceOperations;
  readonly projectQuotas: ProjectQuotaOperations;
  readonly podCertificateKeys: PodCertificateKeyOperations;
  readonly hostPaths: HostPathOperations;
  readonly subPaths: SubPathOperations;
  readonly podLogs: PodLogOperations;
  readonly containerLogs: ContainerLogOperations;
  readonly podCgroups: PodCgroupOperations;
  readonly machine: MachineOperations;
  readonly stateFiles: StateFileOperations;
  readonly filesystemUsage: FilesystemUsageOperations;
  readonly nodeStats: NodeStatsOperations;
  readonly nodeShutdown: NodeShutdownOperations;
  readonly events: EventSinkOperations;
  readonly pullRecords: PullRecordOperations;
  readonly registryCredentials: RegistryCredentialOperations;
}
export type HostOperations = Flattened<HostPorts>;
export type HostOperationName = keyof HostOperations;
