// The field table, first part: sources of static pods, the kubelet's own servers, access to them, registry and event limits.
// Order is that of the shown form.
import { nanosPerHour, nanosPerMinute, nanosPerSecond } from '../values/go-duration.js';
import { bool, duration, group, int32, int32OrZero, list, map, off, text, textMap, texts } from './setting.js';
import { int32Kind, listKind, textKind } from './value-kind.js';

export const serverFields = {
  enableServer: bool(true, 'Serve the HTTPS API. Without it logs, exec and metrics of this node are out of reach.', { flag: 'enable-server' }),
  staticPodPath: text('', 'Directory of static pod manifests, or one manifest file.', { flag: 'pod-manifest-path', relativeToFile: true }),
  podLogsDir: text('/var/log/pods', 'Directory under which the runtime writes the logs of pods. Absolute and normalized.', { since: '1.29', relativeToFile: true }),
  syncFrequency: duration(nanosPerMinute, 'Longest time between two comparisons of a pod with its specification.', { flag: 'sync-frequency' }),
  fileCheckFrequency: duration(20 * nanosPerSecond, 'Time between two looks at the static pod files.', { flag: 'file-check-frequency' }),
  httpCheckFrequency: duration(20 * nanosPerSecond, 'Time between two looks at the static pod URL.', { flag: 'http-check-frequency' }),
  staticPodURL: text('', 'URL of further static pods.', { flag: 'manifest-url' }),
  staticPodURLHeader: map(listKind(textKind), 'HTTP headers sent to the static pod URL, by name.', { flag: 'manifest-url-header' }),
  address: text('0.0.0.0', 'Address that the servers listen on; 0.0.0.0 or :: for all.', { flag: { name: 'address', type: 'ip' } }),
  port: int32(10250, 'Port of the HTTPS API.', { flag: 'port' }),
  readOnlyPort: int32(0, 'Port of the unauthenticated read-only API; 0 for none.', { flag: 'read-only-port' }),
  tlsCertFile: text('', 'Serving certificate, with intermediates after it. Without one a self-signed pair is made in --cert-dir.', {
    flag: 'tls-cert-file',
    relativeToFile: true,
  }),
  tlsPrivateKeyFile: text('', 'Private key of the serving certificate.', { flag: 'tls-private-key-file', relativeToFile: true }),
  tlsCipherSuites: texts(null, 'Cipher suites for TLS up to 1.2; empty for the secure defaults.', { flag: 'tls-cipher-suites' }),
  tlsCurvePreferences: list(int32Kind, null, 'Key exchange groups by their IANA number, in order of preference.', { since: '1.36' }),
  tlsMinVersion: text('', 'Oldest TLS version that is accepted: VersionTLS10 to VersionTLS13.', { flag: 'tls-min-version' }),
  rotateCertificates: off('Renew the client certificate through the certificates API.', { flag: 'rotate-certificates' }),
  serverTLSBootstrap: off('Request the serving certificate from the certificates API.', { flag: 'rotate-server-certificates', since: '1.10' }),
  authentication: group({
    x509: group({
      clientCAFile: text('', 'Certificate authorities whose client certificates are accepted.', { flag: 'client-ca-file', relativeToFile: true }),
    }),
    webhook: group({
      enabled: bool(true, 'Check bearer tokens with the TokenReview API.', { flag: 'authentication-token-webhook' }),
      cacheTTL: duration(2 * nanosPerMinute, 'How long an answer about a token is kept.', { flag: 'authentication-token-webhook-cache-ttl' }),
    }),
    anonymous: group({
      enabled: bool(false, 'Take requests without credentials as those of system:anonymous.', { flag: 'anonymous-auth' }),
    }),
  }),
  authorization: group({
    mode: text('Webhook', 'Who decides about requests: AlwaysAllow, or Webhook for the SubjectAccessReview API.', { flag: 'authorization-mode' }),
    webhook: group({
      cacheAuthorizedTTL: duration(5 * nanosPerMinute, 'How long a positive answer is kept.', { flag: 'authorization-webhook-cache-authorized-ttl' }),
      cacheUnauthorizedTTL: duration(30 * nanosPerSecond, 'How long a negative answer is kept.', { flag: 'authorization-webhook-cache-unauthorized-ttl' }),
    }),
  }),
  registryPullQPS: int32OrZero(5, 'Image pulls a second; 0 for no limit.', { flag: 'registry-qps' }),
  registryBurst: int32(10, 'Image pulls at once beyond registryPullQPS.', { flag: 'registry-burst' }),
  imagePullCredentialsVerificationPolicy: text('', 'When a pod must prove its right to an image that is already on the node.', { since: '1.33' }),
  preloadedImagesVerificationAllowlist: texts(null, 'Images, or prefixes ending in /*, that NeverVerifyAllowlistedImages excepts.', { since: '1.33' }),
  eventRecordQPS: int32OrZero(50, 'Events sent a second; 0 for the client default of 5.', { flag: 'event-qps' }),
  eventBurst: int32(100, 'Events at once beyond eventRecordQPS.', { flag: 'event-burst' }),
  enableDebuggingHandlers: bool(true, 'Serve logs, exec, attach and port-forward.', { flag: 'enable-debugging-handlers' }),
  enableContentionProfiling: off('Accepted for compatibility; there is no block profile.', { flag: 'contention-profiling' }),
  healthzPort: int32OrZero(10248, 'Port of the health check; 0 for none.', { flag: 'healthz-port' }),
  healthzBindAddress: text('127.0.0.1', 'Address of the health check.', { flag: { name: 'healthz-bind-address', type: 'ip' } }),
  oomScoreAdj: int32OrZero(-999, 'oom_score_adj of the agent itself, -1000 to 1000.', { flag: 'oom-score-adj' }),
  clusterDomain: text('', "The cluster's DNS domain, added to the search list of pods.", { flag: 'cluster-domain' }),
  clusterDNS: texts(null, 'Name servers for pods with dnsPolicy ClusterFirst.', { flag: 'cluster-dns' }),
  streamingConnectionIdleTimeout: duration(4 * nanosPerHour, 'How long an exec, attach or port-forward stream may be silent before it is cut; 0: for ever.', {
    flag: 'streaming-connection-idle-timeout',
  }),
};

export const nodeStatusFields = {
  nodeStatusUpdateFrequency: duration(10 * nanosPerSecond, 'Time between two computations of the node status.', { flag: 'node-status-update-frequency' }),
  nodeStatusReportFrequency: duration(0, 'Time between two reports of an unchanged node status: 5m, or nodeStatusUpdateFrequency where that is set.', { since: '1.14' }),
  nodeLeaseDurationSeconds: int32(40, 'Duration of the node lease, which is renewed every quarter of it.', { since: '1.13' }),
  imageMinimumGCAge: duration(2 * nanosPerMinute, 'Least age of an unused image before it may be removed.', { flag: 'minimum-image-ttl-duration' }),
  imageMaximumGCAge: duration(0, 'Age at which an unused image is removed in any case; 0s for never.', { since: '1.29' }),
  imageGCHighThresholdPercent: int32OrZero(85, 'Disk usage above which images are removed; 100 for never.', { flag: 'image-gc-high-threshold' }),
  imageGCLowThresholdPercent: int32OrZero(80, 'Disk usage down to which images are removed.', { flag: 'image-gc-low-threshold' }),
  volumeStatsAggPeriod: duration(nanosPerMinute, 'Time between two measurements of volumes; negative for none.', { flag: 'volume-stats-agg-period' }),
};

export const evictionFields = {
  evictionHard: textMap('Signals and thresholds at which pods are evicted at once.', { flag: { name: 'eviction-hard', type: 'langle' } }),
  evictionSoft: textMap('Signals and thresholds at which pods are evicted after a grace period.', { flag: { name: 'eviction-soft', type: 'langle' } }),
  evictionSoftGracePeriod: textMap('How long each soft threshold must hold.', { flag: 'eviction-soft-grace-period' }),
  evictionPressureTransitionPeriod: duration(5 * nanosPerMinute, 'How long a pressure condition stays after its signal went.', {
    flag: 'eviction-pressure-transition-period',
  }),
  evictionMaxPodGracePeriod: int32(0, 'Longest grace period, in seconds, of a pod evicted by a soft threshold.', { flag: 'eviction-max-pod-grace-period' }),
  evictionMinimumReclaim: textMap('How much an eviction reclaims at least, by signal.', { flag: 'eviction-minimum-reclaim' }),
  mergeDefaultEvictionSettings: bool(false, 'Fill evictionHard with the defaults of the signals it lacks.', { since: '1.32' }),
};
