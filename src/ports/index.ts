// Package entry `kubelet-ts/ports`: what the domain asks of the outside and answers to it, as types. An adapter implements these.
export type { AgentQueries, HealthCheck, PodList } from './inbound/agent-queries.js';
export type { Micros } from './micros.js';
export type { Container, ResourceList, ResourceRequirements } from './model/container.js';
export type { ContainerConfig } from './model/container-config.js';
export type { Node, NodeSpec, NodeStatus, Taint } from './model/node.js';
export type { LabelSelector, ObjectMeta, ObjectReference } from './model/object-meta.js';
export type { Pod, PodSpec, Toleration } from './model/pod.js';
export type { ContainerState, ContainerStatus, PodCondition, PodPhase, PodStatus } from './model/pod-status.js';
export type { ListedContainer, ListedPod, ListedSandbox, RuntimeListing } from './model/runtime-listing.js';
export type { PodRuntimeStatus, RuntimeContainerStatus, SandboxStatus } from './model/runtime-status.js';
export type { SandboxConfig } from './model/sandbox-config.js';
export type { ContainerStats, FsStats, MemoryStats, NodeStats, PodStats, StatsSummary, VolumeStats } from './model/stats-summary.js';
export type { Call, CancelSignal, Flattened, Operation, PortOf } from './operation.js';
export type { ContainerOperations, ImageOperations, RuntimeStateOperations, SandboxOperations } from './outbound/container-runtime.js';
export type { EventRecord, EventSinkOperations } from './outbound/event-sink.js';
export type { FileWatch, FileWatchEvent, FileWatchListener } from './outbound/file-watch.js';
export type { LogFields, Logger, LogLevel } from './outbound/logger.js';
export type {
  ManifestContent,
  ManifestDirectoryOperations,
  ManifestFile,
  ManifestListing,
  ManifestOperations,
  ManifestsChanged,
  ManifestUrlOperations,
} from './outbound/manifests.js';
export type { AgentOperations, OutboundOperations, OutboundPorts } from './outbound/outbound-ports.js';
export type { PodCgroupOperations, PodDirectoryOperations, PodLogOperations } from './outbound/pod-files.js';
export type { RuntimeEvent, RuntimeEventSource } from './outbound/runtime-events.js';
export { type Outcome, PortError, type PortErrorKind, type PortFailure } from './port-error.js';
