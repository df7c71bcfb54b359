// Which settings something acts on. The others are read, checked and shown, and their use is logged once: silence would be a promise.
// Invariant: every path here is a setting of the table; whoever wires a setting adds it.

import { applyDefaults, withFileDefaults, withLegacyDefaults } from './defaults.js';
import { showConfiguration } from './draft.js';
import { type FeatureGates, featureEnabled, noFeatureGates } from './feature-gates.js';
import { type KubeletConfiguration, settingRows, valueAt } from './schema.js';

/** Dotted paths of settings, as `authentication.anonymous.enabled`. */
export const actedOn: ReadonlySet<string> = new Set([
  'address',
  'allowedUnsafeSysctls',
  'authentication.anonymous.enabled',
  'authentication.webhook.cacheTTL',
  'authentication.webhook.enabled',
  'authentication.x509.clientCAFile',
  'authorization.mode',
  'authorization.webhook.cacheAuthorizedTTL',
  'authorization.webhook.cacheUnauthorizedTTL',
  'cgroupDriver',
  'cgroupRoot',
  'cgroupsPerQOS',
  'clusterDNS',
  'clusterDomain',
  'configMapAndSecretChangeDetectionStrategy',
  'containerLogMaxFiles',
  'containerLogMaxSize',
  'containerLogMaxWorkers',
  'containerLogMonitorInterval',
  'containerRuntimeEndpoint',
  'cpuCFSQuota',
  'cpuCFSQuotaPeriod',
  'crashLoopBackOff.maxContainerRestartPeriod',
  'enableControllerAttachDetach',
  'enableDebugFlagsHandler',
  'enableDebuggingHandlers',
  'enableProfilingHandler',
  'enableServer',
  'enableSystemLogHandler',
  'enableSystemLogQuery',
  'eventBurst',
  'eventRecordQPS',
  'evictionHard',
  'evictionMaxPodGracePeriod',
  'evictionMinimumReclaim',
  'evictionPressureTransitionPeriod',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'failCgroupV1',
  'failSwapOn',
  'featureGates',
  'fileCheckFrequency',
  'healthzBindAddress',
  'healthzPort',
  'httpCheckFrequency',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'imageMaximumGCAge',
  'imageMinimumGCAge',
  'imagePullCredentialsVerificationPolicy',
  'imageServiceEndpoint',
  'kubeAPIBurst',
  'kubeAPIQPS',
  'kubeReserved',
  'localStorageCapacityIsolation',
  'logging.flushFrequency',
  'logging.format',
  'logging.options.json.infoBufferSize',
  'logging.options.json.splitStream',
  'logging.options.text.infoBufferSize',
  'logging.options.text.splitStream',
  'logging.verbosity',
  'logging.vmodule',
  'maxOpenFiles',
  'maxParallelImagePulls',
  'maxPods',
  'memorySwap.swapBehavior',
  'mergeDefaultEvictionSettings',
  'nodeLeaseDurationSeconds',
  'nodeStatusMaxImages',
  'nodeStatusReportFrequency',
  'nodeStatusUpdateFrequency',
  'oomScoreAdj',
  'podCIDR',
  'podLogsDir',
  'podsPerCore',
  'port',
  'preloadedImagesVerificationAllowlist',
  'protectKernelDefaults',
  'providerID',
  'readOnlyPort',
  'registerNode',
  'registerWithTaints',
  'registryBurst',
  'registryPullQPS',
  'resolvConf',
  'rotateCertificates',
  'runOnce',
  'runtimeRequestTimeout',
  'seccompDefault',
  'serializeImagePulls',
  'serverTLSBootstrap',
  'showHiddenMetricsForVersion',
  'singleProcessOOMKill',
  'staticPodPath',
  'staticPodURL',
  'staticPodURLHeader',
  'streamingConnectionIdleTimeout',
  'syncFrequency',
  'systemReserved',
  'tlsCertFile',
  'tlsCipherSuites',
  'tlsCurvePreferences',
  'tlsMinVersion',
  'tlsPrivateKeyFile',
  'tracing.endpoint',
  'tracing.samplingRatePerMillion',
  'userNamespaces.idsPerPod',
  'volumeStatsAggPeriod',
]);

/** Feature gates that are known, and change nothing here. */
const gatesWithoutEffect = ['LocalStorageCapacityIsolationFSQuotaMonitoring'] as const;

/** Those of them that are on. */
export function unusedGates(gates: FeatureGates): string[] {
  return gatesWithoutEffect.filter((name) => featureEnabled(gates, name));
}

/** Settings that differ from their default and that nothing acts on; dotted paths, in the order of the table. */
export function unusedSettings(configuration: KubeletConfiguration, usesFile: boolean): string[] {
  const defaults = applyDefaults({}, noFeatureGates);
  const baseline = showConfiguration(usesFile ? withFileDefaults(defaults, false) : withLegacyDefaults(defaults));
  const shown = showConfiguration(configuration);
  return settingRows
    .filter(({ path }) => !actedOn.has(path.join('.')) && JSON.stringify(valueAt(shown, path)) !== JSON.stringify(valueAt(baseline, path)))
    .map(({ path }) => path.join('.'));
}
