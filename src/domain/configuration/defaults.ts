// Defaults of KubeletConfiguration: those of the table, and the few that depend on other settings or on feature gates.
// Invariant: run once on each document that was read, after the drop-ins were merged into it and before flags are applied.
import { nanosPerMinute, nanosPerSecond } from '../values/go-duration.js';
import { fillFallbacks } from './draft.js';
import { type FeatureGates, featureEnabled } from './feature-gates.js';
import { type DraftConfiguration, type KubeletConfiguration, valueAt, withValue } from './schema.js';

const defaultCrashLoopMaximum = 300 * nanosPerSecond;
const defaultReportFrequency = 5 * nanosPerMinute;

/** The thresholds of a configuration file without any. They don't apply without a file: then there are no hard thresholds. */
const defaultEvictionHard: Readonly<Record<string, string>> = {
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
};

/** `gates` are those in force together with the draft's own. */
export function applyDefaults(draft: DraftConfiguration, gates: FeatureGates): KubeletConfiguration {
  let filled = withoutSplitStreams(draft);
  const updateFrequency = (valueAt(filled, ['nodeStatusUpdateFrequency']) as number | null) ?? 0;
  if (((valueAt(filled, ['nodeStatusReportFrequency']) as number | null) ?? 0) === 0) {
    filled = withValue(filled, ['nodeStatusReportFrequency'], updateFrequency === 0 ? defaultReportFrequency : updateFrequency);
  }
  if (((valueAt(filled, ['podPidsLimit']) as number | null) ?? -1) < 0) filled = withValue(filled, ['podPidsLimit'], -1);
  if (valueAt(filled, ['serializeImagePulls']) === null) {
    const parallel = valueAt(filled, ['maxParallelImagePulls']) as number | null;
    filled = withValue(filled, ['serializeImagePulls'], parallel === null || parallel < 2);
  }
  const crashLoopMaximum = ['crashLoopBackOff', 'maxContainerRestartPeriod'];
  if (featureEnabled(gates, 'KubeletCrashLoopBackOffMax') && valueAt(filled, crashLoopMaximum) === null) filled = withValue(filled, crashLoopMaximum, defaultCrashLoopMaximum);
  const verification = valueAt(filled, ['imagePullCredentialsVerificationPolicy']) ?? '';
  if (featureEnabled(gates, 'KubeletEnsureSecretPulledImages') && verification === '') {
    filled = withValue(filled, ['imagePullCredentialsVerificationPolicy'], 'NeverVerifyPreloadedImages');
  }
  return fillFallbacks(filled);
}

/** A file can't split the log streams: the Go kubelet drops the setting on decoding, and clusters rely on it. */
function withoutSplitStreams(draft: DraftConfiguration): DraftConfiguration {
  let kept = draft;
  for (const format of ['text', 'json']) {
    const path = ['logging', 'options', format, 'splitStream'];
    if (valueAt(kept, path) !== null) kept = withValue(kept, path, null);
  }
  return kept;
}

/** Defaults only of a configuration file: the hard eviction thresholds. An empty map stays: it disables them. */
export function withFileDefaults(configuration: KubeletConfiguration, evictionHardIsSet: boolean): KubeletConfiguration {
  if (!evictionHardIsSet) return { ...configuration, evictionHard: defaultEvictionHard };
  if (!configuration.mergeDefaultEvictionSettings) return configuration;
  return { ...configuration, evictionHard: { ...defaultEvictionHard, ...configuration.evictionHard } };
}

/** The starting point without a configuration file: as the first kubelets were, open to everyone. */
export function withLegacyDefaults(configuration: KubeletConfiguration): KubeletConfiguration {
  const { authentication, authorization } = configuration;
  return {
    ...configuration,
    authentication: { ...authentication, anonymous: { enabled: true }, webhook: { ...authentication.webhook, enabled: false } },
    authorization: { ...authorization, mode: 'AlwaysAllow' },
    readOnlyPort: 10255,
  };
}
