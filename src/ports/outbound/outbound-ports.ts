// Every outbound port of the agent, by the name that its operations carry in commands, metrics, errors and records (`port.operation`).
import type { Flattened, PortOf } from '../operation.js';
import type { ApiReaderOperations, ApiWriterOperations } from './apiserver.js';
import type { BlockDeviceOperations } from './block-devices.js';
import type { ContainerLogOperations } from './container-logs.js';
import type { ContainerOperations, ImageOperations, RuntimeStateOperations, SandboxOperations } from './container-runtime.js';
import type { CsiFileOperations } from './csi-files.js';
import type { CsiNodeOperations } from './csi-node.js';
import type { DraPluginOperations } from './dra-plugin.js';
import type { EventSinkOperations } from './event-sink.js';
import type { FilesystemUsageOperations } from './filesystem-usage.js';
import type { MachineOperations } from './machine.js';
import type { ManifestOperations } from './manifests.js';
import type { NodeShutdownOperations } from './node-shutdown.js';
import type { NodeStatsOperations } from './node-stats.js';
import type { PluginSocketOperations } from './plugin-sockets.js';
import type { PodCertificateKeyOperations } from './pod-certificate-keys.js';
import type { PodCgroupOperations, PodDirectoryOperations, PodLogOperations } from './pod-files.js';
import type { HostPathOperations, PodVolumeOperations, SubPathOperations } from './pod-volumes.js';
import type { ProbingOperations } from './probing.js';
import type { ProjectQuotaOperations } from './project-quotas.js';
import type { PullRecordOperations } from './pull-records.js';
import type { RegistryCredentialOperations } from './registry-credentials.js';
import type { StateFileOperations } from './state-files.js';
import type { VolumeMountOperations } from './volume-mounts.js';

export interface OutboundOperations {
  readonly runtime: RuntimeStateOperations;
  readonly sandboxes: SandboxOperations;
  readonly containers: ContainerOperations;
  readonly images: ImageOperations;
  readonly pullRecords: PullRecordOperations;
  readonly registryCredentials: RegistryCredentialOperations;
  readonly probing: ProbingOperations;
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
  readonly apiReader: ApiReaderOperations;
  readonly apiWriter: ApiWriterOperations;
}

/** `runtime.listPods`, `containers.start` ... -> request and reply. Those of manifests are requested only by an agent with such sources. */
export type AgentOperations = Flattened<OutboundOperations> & ManifestOperations;

/** The adapters that a daemon is wired with. */
export type OutboundPorts = { readonly [Port in keyof OutboundOperations]: PortOf<OutboundOperations[Port]> };
