// The feature gates that Kubernetes 1.36 knows. All components share one registry, so most of these mean nothing to a node agent;
// they are accepted because one list of gates is usually given to every component.
// Invariant: each name occurs in one list; dependencies name gates of this table.
export type FeatureStage = 'ALPHA' | 'BETA' | 'GA' | 'DEPRECATED';

export interface FeatureGate {
  readonly name: string;
  readonly stage: FeatureStage;
  readonly enabledByDefault: boolean;
  /** May be set to its default only. */
  readonly locked: boolean;
  readonly dependsOn: readonly string[];
}

/** Off unless set. */
const alpha = `
  APIServingWithRoutine AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR
  ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ContainerStopSignals
  ControllerManagerReleaseLeaderElectionLockOnExit CrossNamespaceVolumeDataSource DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus
  DRAWorkloadResourceClaims EventedPLEG GangScheduling GenericWorkload HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
  InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS MutablePVNodeAffinity
  NativeHistograms PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved
  ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi ShardedListAndWatch StorageCapacityScoring StorageVersionAPI TaintTolerationComparisonOperators
  TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity
  WorkloadAwarePreemption WorkloadWithJob
`;

/** On unless unset. */
const betaOn = `
  APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
  CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz
  ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints
  DRAExtendedResource DRAPartitionableDevices DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout
  DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
  GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
  InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
  KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions MatchLabelKeysInPodTopologySpread
  MatchLabelKeysInPodTopologySpreadSelectorMerge MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs NodeDeclaredFeatures
  NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist PodDeletionCost PodLevelResources PodReadyToStartContainersCondition
  PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences RelaxedServiceNameValidation ReloadKubeletClientCAFile
  ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits
  RotateKubeletServerCertificate SchedulerAsyncPreemption SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
  StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
  StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector
  StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
  UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO WatchCacheInitializationPostStartHook WatchList WatchListClient
  WindowsGracefulNodeShutdown
`;

/** Beta, but off unless set. */
const betaOff = `
  ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode CoordinatedLeaderElection DRADeviceTaintRules
  LocalStorageCapacityIsolationFSQuotaMonitoring MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls StorageVersionMigrator
`;

/** Part of the product: locked to on. */
const stable = `
  APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
  CRDValidationRatcheting CSIMigrationPortworx CSIServiceAccountTokenSecrets ConsistentListFromCache CustomResourceFieldSelectors DRAAdminAccess DRAPrioritizedList
  DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout ExternalServiceAccountTokenSigner HonorPVReclaimPolicy ImageMaximumGCAge
  ImageVolume InOrderInformers InPlacePodVerticalScaling InformerResourceVersion JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy
  KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown
  MatchLabelKeysInPodAffinity MemoryManager MultiCIDRServiceAllocator MutableCSINodeAllocatableCount MutatingAdmissionPolicy NFTablesProxyMode
  NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
  PodObservedGenerationTracking PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
  RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy SELinuxMountReadWriteOncePod
  SchedulerQueueingHints SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
  ServiceAccountTokenPodNodeInfo ServiceTrafficDistribution SidecarContainers StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
  StructuredAuthenticationConfiguration StructuredAuthorizationConfiguration SupplementalGroupsPolicy SystemdWatchdog TopologyAwareHints TopologyManagerPolicyOptions
  UserNamespacesSupport VolumeAttributesClass WinDSR WinOverlay
`;

/** Part of the product, and may still be switched off. */
const stableOpen = `
  CustomCPUCFSQuotaPeriod
`;

/** On its way out, on. */
const deprecatedOn = `
  DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods StorageNamespaceIndex
`;

/** On its way out, off. */
const deprecatedOff = `
  AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests AllowOverwriteTerminationGracePeriodSeconds ChangeContainerStatusOnKubeletRestart
  DeclarativeValidationTakeover InPlacePodVerticalScalingAllocatedStatus KMSv1 KubeletRegistrationGetOnExistsOnly SeparateCacheWatchRPC WindowsHostNetwork
`;

/** On its way out, locked to on. */
const deprecatedLockedOn = `
  AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion
`;

/** On its way out, locked to off. */
const deprecatedLockedOff = `
  AllowServiceLBStatusOnNonLB GitRepoVolumeDriver WatchFromStorageWithoutResourceVersion
`;

/** What must be on for a gate to be on. */
const dependencies: Readonly<Record<string, readonly string[]>> = {
  AuthorizeNodeWithSelectors: ['AuthorizeWithSelectors'],
  ClusterTrustBundleProjection: ['ClusterTrustBundle'],
  DRAAdminAccess: ['DynamicResourceAllocation'],
  DRAConsumableCapacity: ['DynamicResourceAllocation'],
  DRADeviceBindingConditions: ['DynamicResourceAllocation', 'DRAResourceClaimDeviceStatus'],
  DRADeviceTaintRules: ['DRADeviceTaints'],
  DRADeviceTaints: ['DynamicResourceAllocation'],
  DRAExtendedResource: ['DynamicResourceAllocation'],
  DRAListTypeAttributes: ['DynamicResourceAllocation'],
  DRANodeAllocatableResources: ['DynamicResourceAllocation'],
  DRAPartitionableDevices: ['DynamicResourceAllocation'],
  DRAPrioritizedList: ['DynamicResourceAllocation'],
  DRAResourcePoolStatus: ['DynamicResourceAllocation'],
  DRASchedulerFilterTimeout: ['DynamicResourceAllocation'],
  DRAWorkloadResourceClaims: ['DynamicResourceAllocation', 'GenericWorkload'],
  DisableAllocatorDualWrite: ['MultiCIDRServiceAllocator'],
  ExtendWebSocketsToKubelet: ['NodeDeclaredFeatures'],
  GangScheduling: ['GenericWorkload'],
  GracefulNodeShutdownBasedOnPodPriority: ['GracefulNodeShutdown'],
  ImageVolumeWithDigest: ['ImageVolume'],
  InPlacePodLevelResourcesVerticalScaling: ['InPlacePodVerticalScaling', 'PodLevelResources', 'NodeDeclaredFeatures'],
  InPlacePodVerticalScalingAllocatedStatus: ['InPlacePodVerticalScaling'],
  InPlacePodVerticalScalingExclusiveCPUs: ['InPlacePodVerticalScaling'],
  InPlacePodVerticalScalingExclusiveMemory: ['InPlacePodVerticalScaling'],
  InPlacePodVerticalScalingInitContainers: ['InPlacePodVerticalScaling'],
  MatchLabelKeysInPodTopologySpreadSelectorMerge: ['MatchLabelKeysInPodTopologySpread'],
  PodCertificateRequest: ['AuthorizeNodeWithSelectors'],
  PodLevelResourceManagers: ['PodLevelResources'],
  PodLifecycleSleepActionAllowZero: ['PodLifecycleSleepAction'],
  ProcMountType: ['UserNamespacesSupport'],
  ResourceHealthStatus: ['DynamicResourceAllocation'],
  ResourceHealthStatusMessage: ['ResourceHealthStatus'],
  RestartAllContainersOnContainerExits: ['ContainerRestartRules', 'NodeDeclaredFeatures'],
  ServiceAccountTokenNodeBinding: ['ServiceAccountTokenNodeBindingValidation'],
  StorageVersionAPI: ['APIServerIdentity'],
  StructuredAuthenticationConfigurationEgressSelector: ['StructuredAuthenticationConfiguration'],
  StructuredAuthenticationConfigurationJWKSMetrics: ['StructuredAuthenticationConfiguration'],
  TopologyAwareWorkloadScheduling: ['GenericWorkload'],
  UnknownVersionInteroperabilityProxy: ['APIServerIdentity'],
  UserNamespacesHostNetworkSupport: ['UserNamespacesSupport', 'NodeDeclaredFeatures'],
  WindowsCPUAndMemoryAffinity: ['MemoryManager'],
  WindowsGracefulNodeShutdown: ['GracefulNodeShutdown'],
  WorkloadAwarePreemption: ['GangScheduling'],
  WorkloadWithJob: ['GenericWorkload'],
};

function gates(names: string, stage: FeatureStage, enabledByDefault: boolean, locked: boolean): FeatureGate[] {
  return names
    .trim()
    .split(/\s+/)
    .map((name) => ({ name, stage, enabledByDefault, locked, dependsOn: dependencies[name] ?? [] }));
}

export const gateTable: readonly FeatureGate[] = [
  ...gates(alpha, 'ALPHA', false, false),
  ...gates(betaOn, 'BETA', true, false),
  ...gates(betaOff, 'BETA', false, false),
  ...gates(stable, 'GA', true, true),
  ...gates(stableOpen, 'GA', true, false),
  ...gates(deprecatedOn, 'DEPRECATED', true, false),
  ...gates(deprecatedOff, 'DEPRECATED', false, false),
  ...gates(deprecatedLockedOn, 'DEPRECATED', true, true),
  ...gates(deprecatedLockedOff, 'DEPRECATED', false, true),
];
