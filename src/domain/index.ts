// Package entry `kubelet-ts/domain`: single decisions of a kubelet, for use in a script, a scheduler, a simulator or a page;
// and the agent as a machine, with the kernel that runs it. It depends on no Node module and no package.
// The single decisions validate their arguments and fail with AssertionFailed, which names the wrong argument.

export type { BootMoment, PodEnd } from '../ports/model/pod-end.js';
export type { Admission, Rejection } from './admission/admission-result.js';
export type { PredicateInput, PredicateResult } from './admission/predicates.js';
export type { AgentEvent, AgentState, AgentSurroundings } from './agent/agent-state.js';
export type { NodeCgroupSettings } from './agent/cgroups/node-cgroups-state.js';
export type { KubeletEvent, KubeletOperations, KubeletPorts, KubeletSettings, KubeletState } from './agent/kubelet.js';
export type { NodeOverlay, NodeStatusState } from './agent/node-status/node-status-state.js';
export type { ObservedTimesSettings } from './agent/observed-times/observed-times-state.js';
export { type AlignmentPolicies, type AlignmentSettings, noAlignmentPolicies } from './agent/resource-managers/alignment-state.js';
export type { SetAsideSettings } from './agent/set-aside/set-aside-state.js';
export { type AgentSettings, defaultSettings } from './agent/settings.js';
export type { ResizeGates } from './allocation/allocated-pod.js';
export type { AllocationState, CheckpointFile, ResizeCounters, RetryTrigger } from './allocation/allocation-state.js';
export type { ResizeConditions } from './allocation/resize-conditions.js';
export type { ChangeDetection } from './api-data/object-manager.js';
export type { CrashLoopDecision } from './backoff/crash-loop-backoff.js';
export type { ImagePullBackoff, PullProblem } from './backoff/image-pull-backoff.js';
export type { BackoffEntry, KeyedBackoff } from './backoff/keyed-backoff.js';
export type { RetryPauses } from './backoff/retry-pauses.js';
export type { CgroupDriver } from './cgroups/cgroup-name.js';
export type { ReservationFacts } from './cgroups/node-allocatable.js';
export type { CgroupVersion, MemoryQosFacts, SwapFacts } from './cgroups/resource-facts.js';
export type { ContainerName } from './checkpoints/cpu-checkpoint.js';
export type { ClaimDevice } from './checkpoints/dra-checkpoint.js';
export type { PodResourceEntry } from './checkpoints/pod-resources-checkpoint.js';
export type { StateFileWriter } from './checkpoints/state-file-writer.js';
export type { Reservation } from './configuration/startup-checks.js';
export type { MountedVolume } from './containers/mounts.js';
export type { NodeFacts, RuntimeHandlerFacts } from './containers/node-facts.js';
export { type CpuOptionGates, type CpuOptionsParse, noCpuOptions, type StaticPolicyOptions } from './cpu-manager/cpu-options.js';
export type { CpuInfo, CpuLevel, CpuTopology, PhysicalCore, TopologyDiscovery } from './cpu-manager/cpu-topology.js';
export type { CpuTake } from './cpu-manager/take-cpus.js';
export type { ClaimRecord, DraManager, DraTask, DraTaskCall } from './dra-manager/dra-state.js';
export type { UsedClaim } from './dra-manager/pod-claims.js';
export { admitPod, admitUnderPressure, podsToPreempt } from './embedding/admission.js';
export { decideCrashLoop, imagePullFailed, imagePullWait, newCrashLoopBackoff, newImagePullBackoff } from './embedding/backoff.js';
export { assignCpus, discoverCpuTopology, parseCpuOptions } from './embedding/cpu-assignment.js';
export { cpuSetDifference, cpuSetIntersection, cpuSetOf, cpuSetUnion, formatCpuSet, parseCpuSet } from './embedding/cpu-sets.js';
export { observePressure, observeSignals, parseEvictionThresholds, rankPods } from './embedding/eviction.js';
export { advanceEnsureImage, beginEnsureImage, defaultPullPolicy, mustPullToVerify, recordOfPull } from './embedding/images.js';
export {
  agentMachine,
  canonicalJson,
  hashText,
  kubeletMachine,
  newAgentState,
  newKubeletState,
  nodeFacts,
  parseCanonicalJson,
  podsOfManifest,
} from './embedding/machine.js';
export { nodeResources, withPressures, withReady } from './embedding/node-status.js';
export { apiPodStatus, computePodActions, isTerminalPhase } from './embedding/pod-sync.js';
export { isCriticalPod, oomScoreAdj, podLimits, podQosClass, podRequests } from './embedding/pods.js';
export { newProbeWorker, probeAnswered, probeDue, probeWakeAt, skipMissedTicks, stopProbeWorker, triggerProbe } from './embedding/probes.js';
export {
  addQuantities,
  compareQuantities,
  parseQuantity,
  quantityMilliValue,
  quantityOf,
  quantityText,
  quantityValue,
  subtractQuantities,
} from './embedding/quantities.js';
export { matchesLabelSelector, matchesNodeAffinity, untoleratedTaint } from './embedding/selectors.js';
export { normalizeImageName, parseDuration, parseImageReference, parseRfc3339 } from './embedding/texts.js';
export { mergeHints, newTopologyManager } from './embedding/topology.js';
export { apiDataPayload, checkHostPath, generationName, mountedVolumes, planAtomicWrite } from './embedding/volumes.js';
export type { Bucket, Correlated, EventCorrelator, EventPatch, Observed, Similar } from './events/event-correlator.js';
export type { EventRecorder, Written } from './events/event-recorder.js';
export type { EvictionSettings } from './eviction/eviction-loop.js';
export type { EvictionPolicy } from './eviction/eviction-round.js';
export type { SignalObservation, SignalObservations } from './eviction/observations.js';
export { noPressure, type ObservedThreshold, type PressureState } from './eviction/pressure.js';
export type { RankedPod } from './eviction/ranking.js';
export { type EvictionSignal, evictionSignals, type FileSystemLayout, type PressureCondition } from './eviction/signals.js';
export type { ThresholdValue } from './eviction/threshold-text.js';
export type { EvictionConfiguration, EvictionThreshold } from './eviction/thresholds.js';
export type { ContainerGcPolicy } from './gc/container-gc.js';
export type { ImageGcPolicy } from './gc/image-gc.js';
export type { AwaitedPlugin, CachedAnswer, CredentialPluginCache, CredentialProvider, TokenAttributes } from './images/credential-plugins.js';
export type { DockerConfig, RegistryLogin } from './images/docker-config.js';
export type {
  EnsureImageReply,
  EnsureImageRequest,
  EnsureImageRun,
  EnsureImageStep,
  EnsureImageTurn,
  ImageEvent,
  ImageOutcome,
  PulledReply,
} from './images/ensure-image.js';
export type { CredentialLookup, ImageManagerState, ImageRequest, ImageRun, ImageSettings, NodeKeyring } from './images/image-manager-state.js';
export type { CredentialSource, Keyring, TrackedCredentials } from './images/keyring.js';
export type { PluginIdentity } from './images/plugin-identity.js';
export type { PullIntents } from './images/pull-intents.js';
export type { PullLimits, PullQueue } from './images/pull-queue.js';
export type { PullCheckResult, PullRecordStore } from './images/pull-record-store.js';
export type {
  ImagePullCredentials,
  ImagePulledRecord,
  PresentImage,
  PullVerdict,
  RecordedSecret,
  RecordedServiceAccount,
  VerificationPolicy,
} from './images/pull-records.js';
export { AssertionFailed } from './kernel/assert.js';
export { type Divergence, outputText, type RecordedStep, replay } from './kernel/flight-recorder.js';
export { type Input, Kernel, type LogLine, type Output } from './kernel/kernel.js';
export type { Address, Command, CommandFor, LogFields, LogLevel, Machine, Reply, ReplyFor, ReplyTo, Turn, Wake } from './kernel/machine.js';
export type { LeaseKeeper } from './lease/lease-keeper.js';
export type { LeaseCall, LeaseRenewal } from './lease/lease-renewal.js';
export type { LogRotationPolicy } from './logs/log-rotation.js';
export type { MemoryReservation } from './memory-manager/machine-memory.js';
export type { ShutdownPriority } from './node-shutdown/shutdown-groups.js';
export type { CapacityFacts, DeviceResources, HugePages, MachineFacts } from './node-status/node-capacity.js';
export type { ConditionsUpdate, Pressures, ReadinessFacts } from './node-status/node-conditions.js';
export type { NodeEvent } from './node-status/node-event.js';
export type { NodeReporter, ReporterPhase } from './node-status/node-reporter-state.js';
export type { NodeSettings } from './node-status/node-settings.js';
export type { NodeStatusMemory } from './node-status/node-status.js';
export type { StatusReport } from './node-status/status-report.js';
export type { OomKill } from './oom/oom-parser.js';
export type { CsiDriverRecord, CsiNodeEntry, CsiNodeJob, DraPluginRecord, PluginManager, PluginRecord } from './plugins/plugin-manager-state.js';
export type { PodCertificateAnswer } from './pod-certificates/pod-certificates.js';
export type { ManifestContext } from './pod-sources/decode-manifest.js';
export type { FileSourceSettings } from './pod-sources/file-source.js';
export type { ManifestPods } from './pod-sources/manifest-pods.js';
export type { PodSource } from './pod-sources/pod-config.js';
export type { ManifestOrigin } from './pod-sources/static-pod-defaults.js';
export type { UrlSourceSettings } from './pod-sources/url-source.js';
export type { ActuatedResources, ContainerResourceValues, ContainerToUpdate } from './pod-sync/container-resize.js';
export type { KillReason } from './pod-sync/kill-grace.js';
export type { ContainerToKill, PodActions, PodActionsInput } from './pod-sync/pod-actions-types.js';
export type { ContainerToReset } from './pod-sync/restart-all-containers.js';
export type { MissingAmount, PreemptionResult } from './preemption/preemption.js';
export type { ProbeEvent, ProbeKind, ProbeOutcome, ProbeOutcomeResult } from './probes/probe-outcome.js';
export type { ProbeChange, ProbeStep, ProbeWorker } from './probes/probe-worker.js';
export type { PodResourcesOptions } from './qos/pod-resources.js';
export type { QosClass } from './qos/qos-class.js';
export type { NodeAddress } from './status/pod-addresses.js';
export type { PodCgroupReading } from './status/pod-level-resources.js';
export type { PodStatusInput } from './status/pod-status.js';
export type { ProbeResult, ProbeView } from './status/probe-state.js';
export type { MergedHint } from './topology-manager/merge-hints.js';
export type { ProviderHints, TopologyHint } from './topology-manager/topology-hint.js';
export {
  type NumaNode,
  type TopologyManager,
  type TopologyManagerConfig,
  type TopologyManagerResult,
  type TopologyPolicy,
  type TopologyScope,
  topologyPolicies,
} from './topology-manager/topology-manager.js';
export type { UserNamespaceSettings } from './user-namespaces/id-range.js';
export type { HostIds, ReservedIds, UserNamespaces } from './user-namespaces/user-namespaces.js';
export type { CpuSet } from './values/cpu-set.js';
export type { GoParse } from './values/go-text.js';
export type { NormalizedImage } from './values/image-name.js';
export type { ImageReference } from './values/image-reference.js';
export type { LabelRequirement, Labels } from './values/label-requirement.js';
export type { Quantity, QuantityFormat, QuantityParse } from './values/quantity.js';
export type { ApiDataFacts, TokenLookup } from './volumes/api-data-volume.js';
export type { AtomicWritePlan, AtomicWriteStep, FileReading, VolumeDirectory, VolumeEntry } from './volumes/atomic-writer.js';
export type { HostPathCheck, HostPathEntry } from './volumes/host-path-type.js';
export type { Lookup } from './volumes/object-payload.js';
export type { ClusterTrustBundle } from './volumes/trust-bundles.js';
export type { PayloadFile, PayloadResult, VolumePayload } from './volumes/volume-payload.js';
