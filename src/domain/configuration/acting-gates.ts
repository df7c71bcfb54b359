// The feature gates that switch something, each under the name of what it switches. A gate that is not here is accepted and shown, but
// setting it has no effect: `unusedGates` names those that were set to another value than their default.
// Invariant: each gate is known; outside this folder, gates are read through `gatedFeatures` only.
import { type FeatureGates, featureEnabled, knownFeatureGates } from './feature-gates.js';

export const actingGates = {
  allowsDnsOnlyRequests: 'AllowDNSOnlyNodeCSR',
  changesStatusOnRestart: 'ChangeContainerStatusOnKubeletRestart',
  clusterTrustBundles: 'ClusterTrustBundleProjection',
  containerCheckpoint: 'ContainerCheckpoint',
  containerStopSignals: 'ContainerStopSignals',
  cpuAlphaOptions: 'CPUManagerPolicyAlphaOptions',
  cpuBetaOptions: 'CPUManagerPolicyBetaOptions',
  csiVolumeHealth: 'CSIVolumeHealth',
  declaresFeatures: 'NodeDeclaredFeatures',
  disablesQuotaOfExclusiveCpus: 'DisableCPUQuotaWithExclusiveCPUs',
  flagz: 'ComponentFlagz',
  nodeLogQuery: 'NodeLogQuery',
  nodeShutdown: 'GracefulNodeShutdown',
  nodeShutdownByPriority: 'GracefulNodeShutdownBasedOnPodPriority',
  memoryQos: 'MemoryQoS',
  podCertificates: 'PodCertificateRequest',
  podLevelResources: 'PodLevelResources',
  preventsStaticPodReferences: 'PreventStaticPodAPIReferences',
  projectQuotas: 'LocalStorageCapacityIsolationFSQuotaMonitoring',
  qosReserved: 'QOSReserved',
  reloadsClientCa: 'ReloadKubeletClientCAFile',
  reloadsServingCertificate: 'ReloadKubeletServerCertificateFile',
  resizesInitContainers: 'InPlacePodVerticalScalingInitContainers',
  resizesPods: 'InPlacePodLevelResourcesVerticalScaling',
  seLinuxMount: 'SELinuxMount',
  splitsLogStreams: 'PodLogsQuerySplitStreams',
  statusz: 'ComponentStatusz',
  streamsLists: 'CRIListStreaming',
  tracing: 'KubeletTracing',
  translatesWebSockets: 'ExtendWebSocketsToKubelet',
  verifiesPulledImages: 'KubeletEnsureSecretPulledImages',
} as const;

/** Gates that decide what a configuration may say, or what the Node declares. */
const readByRules: readonly string[] = [
  'AllAlpha',
  'AllBeta',
  'CustomCPUCFSQuotaPeriod',
  'KubeletCrashLoopBackOffMax',
  'LoggingAlphaOptions',
  'LoggingBetaOptions',
  'RestartAllContainersOnContainerExits',
  'RotateKubeletServerCertificate',
];

export type GatedFeatures = { readonly [Name in keyof typeof actingGates]: boolean };

export function gatedFeatures(gates: FeatureGates): GatedFeatures {
  return Object.fromEntries(Object.entries(actingGates).map(([name, gate]) => [name, featureEnabled(gates, gate)])) as GatedFeatures;
}

/** Gates that were set by their own name to another value than their default, and that nothing acts on. Ascending. */
export function unusedGates(named: Readonly<Record<string, boolean>>): string[] {
  const acting = new Set<string>([...Object.values(actingGates), ...readByRules]);
  return Object.entries(named)
    .filter(([gate, value]) => !acting.has(gate) && knownFeatureGates.get(gate)?.enabledByDefault !== value)
    .map(([gate]) => gate)
    .sort();
}
