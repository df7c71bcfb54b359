// Package entry `kubelet-ts/ports`: the types of what the domain requests from the outside and answers to it. An adapter implements these.
export type { AgentQueries, HealthCheck, PodList } from './inbound/agent-queries.js';
export type { Instant } from './instant.js';
export type { Micros } from './micros.js';
export type { ApiName, ApiObject, ApiResource, ApiSelection, PatchKind, UnusableObject } from './model/api-object.js';
export type { CgroupValues } from './model/cgroup-values.js';
export type { ConfigMap, Secret } from './model/config-objects.js';
export type {
  AppArmorProfile,
  Container,
  ContainerPort,
  ContainerResizePolicy,
  ContainerRestartRule,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  EphemeralContainer,
  HTTPGetAction,
  HTTPHeader,
  IntOrString,
  KeySelector,
  Lifecycle,
  LifecycleHandler,
  Probe,
  ResourceList,
  ResourceRequirements,
  SELinuxOptions,
  SeccompProfile,
  SecurityContext,
} from './model/container.js';
export type { ContainerConfig, ImageSpec, LinuxContainerSecurityContext, MountPropagation, RuntimeDevice, RuntimeMount } from './model/container-config.js';
export type { Event } from './model/event.js';
export type { ObjectFieldSelector, ResourceFieldSelector } from './model/field-selector.js';
export type { Lease, LeaseSpec } from './model/lease.js';
export type { Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, Taint } from './model/node.js';
export type { LabelSelector, LocalObjectReference, ObjectMeta, ObjectReference, OwnerReference, Quantity } from './model/object-meta.js';
export type {
  Affinity,
  NodeAffinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
  PodDNSConfig,
  PodResourceClaim,
  PodSecurityContext,
  PodSpec,
  Sysctl,
  Toleration,
} from './model/pod.js';
export type {
  ContainerState,
  ContainerStateRunning,
  ContainerStateTerminated,
  ContainerStateWaiting,
  ContainerStatus,
  ContainerUser,
  PodCondition,
  PodPhase,
  PodStatus,
  VolumeMountStatus,
} from './model/pod-status.js';
export type { DeviceAllocationResult, ResourceClaim } from './model/resource-claim.js';
export type { ListedContainer, ListedPod, ListedSandbox, RuntimeListing } from './model/runtime-listing.js';
export type {
  AnnotatedPreStop,
  ContainerRuntimeState,
  NetworkMode,
  PodRuntimeStatus,
  RuntimeContainerResources,
  RuntimeContainerStatus,
  RuntimeContainerUser,
  SandboxState,
  SandboxStatus,
} from './model/runtime-status.js';
export type {
  IdMapping,
  LinuxContainerResources,
  LinuxSandboxSecurityContext,
  NamespaceMode,
  NamespaceOptions,
  PortMapping,
  RuntimeSELinuxOptions,
  SandboxConfig,
  SecurityProfile,
  UserNamespaceOptions,
} from './model/sandbox-config.js';
export type {
  ContainerStats,
  CpuStats,
  FsStats,
  InterfaceStats,
  IoStats,
  MemoryStats,
  NetworkStats,
  NodeStats,
  PodStats,
  PsiData,
  PsiStats,
  StatsSummary,
  SwapStats,
  VolumeStats,
} from './model/stats-summary.js';
export type { DownwardAPIVolumeFile, KeyToPath, Volume, VolumeDevice, VolumeMount, VolumeProjection } from './model/volume.js';
export type { Call, CancelSignal, Flattened, Operation, OperationNames, PortOf } from './operation.js';
export type { ApiClient, ApiList, ApiReaderOperations, ApiWatchEvent, ApiWatchEvents, ApiWatchRequest, ApiWriterOperations } from './outbound/apiserver.js';
export type { BlockDeviceOperations, BlockMap } from './outbound/block-devices.js';
export type { ContainerLogOperations } from './outbound/container-logs.js';
export type {
  ContainerOperations,
  ExecResult,
  ImageOperations,
  PullCredentials,
  RuntimeCondition,
  RuntimeHandler,
  RuntimeHealth,
  RuntimeImage,
  RuntimeStateOperations,
  RuntimeVersion,
  SandboxOperations,
} from './outbound/container-runtime.js';
export type { CsiFileOperations, StagedCsiVolume } from './outbound/csi-files.js';
export type { AtEndpoint, CsiCapability, CsiNodeInfo, CsiNodeOperations, CsiStaging, CsiTexts, CsiVolumeStats } from './outbound/csi-node.js';
export type { DraCall, DraClaimName, DraDevice, DraPluginOperations } from './outbound/dra-plugin.js';
export type { EventRecord, EventSinkOperations } from './outbound/event-sink.js';
export type { FileChange, FileWatch, FileWatchEvent, FileWatchInterest, FileWatchListener } from './outbound/file-watch.js';
export type { FilesystemUsage, FilesystemUsageOperations } from './outbound/filesystem-usage.js';
export type { LogFields, Logger, LogLevel } from './outbound/logger.js';
export type { AddressReading, CoreReading, MachineOperations, MachineReading, MachineTopology, NumaNodeReading } from './outbound/machine.js';
export type {
  ManifestContent,
  ManifestDirectoryOperations,
  ManifestFile,
  ManifestListing,
  ManifestOperations,
  ManifestResponse,
  ManifestsChanged,
  ManifestUrlOperations,
} from './outbound/manifests.js';
export type { NodeShutdownOperations, ShutdownSignal, ShutdownSignalsLost } from './outbound/node-shutdown.js';
export type { NodeStatsOperations, NodeStatsReading } from './outbound/node-stats.js';
export type { AgentOperations, OutboundOperations, OutboundPorts } from './outbound/outbound-ports.js';
export type { PluginInfo, PluginSocket, PluginSocketOperations, PluginSocketsChanged } from './outbound/plugin-sockets.js';
export type { PodCertificateKey, PodCertificateKeyOperations, PodCertificateKeyType } from './outbound/pod-certificate-keys.js';
export type { ContainerFiles, EnsuredCgroup, PodCgroupOperations, PodDirectoryOperations, PodLogOperations, UserNamespaceFile } from './outbound/pod-files.js';
export type {
  HostPathKind,
  HostPathOperations,
  LeftVolume,
  PathEntry,
  PayloadReading,
  PayloadStep,
  PayloadWrite,
  PodVolumeOperations,
  SubPathOperations,
  SubPathStep,
  SubPathsOfVolume,
  VolumeAddress,
  VolumeContent,
  VolumeEntry,
  VolumeLeftovers,
  VolumeSetUp,
} from './outbound/pod-volumes.js';
export type { GrpcHealthReply, GrpcHealthRequest, HttpGetAnswer, HttpGetRequest, ProbingOperations, TcpAnswer, TcpRequest } from './outbound/probing.js';
export type { ProjectQuotaOperations, QuotaAssignment, QuotaPlace } from './outbound/project-quotas.js';
export type { PullRecordFile, PullRecordKind, PullRecordOperations } from './outbound/pull-records.js';
export type { NodeDockerConfig, PluginRun, RegistryCredentialOperations } from './outbound/registry-credentials.js';
export type { RuntimeEvent, RuntimeEventSource } from './outbound/runtime-events.js';
export type { StateFileOperations } from './outbound/state-files.js';
export type { FoundPodVolumes, VolumeMountOperations, VolumeMountSource, VolumeOwnership, VolumePlace } from './outbound/volume-mounts.js';
export { type Outcome, PortError, type PortErrorKind, type PortFailure } from './port-error.js';
