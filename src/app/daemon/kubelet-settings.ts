// Converts the configuration to the machine's settings: durations in microseconds, absolute paths, sources by which options are set.
import { release } from 'node:os';
import { appArmorDisabled } from '../../domain/admission/node-support.js';
import { parseSysctlAllowlist, safeSysctlNames } from '../../domain/admission/sysctl-gate.js';
import type { NodeCgroupSettings } from '../../domain/agent/cgroups/node-cgroups-state.js';
import type { KubeletSettings } from '../../domain/agent/kubelet.js';
import type { AlignmentSettings } from '../../domain/agent/resource-managers/alignment-state.js';
import type { AgentSettings } from '../../domain/agent/settings.js';
import type { ChangeDetection } from '../../domain/api-data/object-manager.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import type { KubeletConfiguration } from '../../domain/configuration/schema.js';
import { takenPeriod } from '../../domain/configuration/taken-values.js';
import type { EvictionSettings } from '../../domain/eviction/eviction-loop.js';
import { parseEvictionThresholds } from '../../domain/eviction/thresholds.js';
import type { ImageGcPolicy } from '../../domain/gc/image-gc.js';
import type { CredentialProvider } from '../../domain/images/credential-plugins.js';
import type { ImageSettings } from '../../domain/images/image-manager-state.js';
import type { VerificationPolicy } from '../../domain/images/pull-records.js';
import type { LogRotationPolicy } from '../../domain/logs/log-rotation.js';
import { type ShutdownPriority, shutdownPriorities } from '../../domain/node-shutdown/shutdown-groups.js';
import { declaredFeatures } from '../../domain/node-status/declared-features.js';
import type { NodeSettings } from '../../domain/node-status/node-settings.js';
import type { UserNamespaceSettings } from '../../domain/user-namespaces/id-range.js';
import { dns1123SubdomainProblems } from '../../domain/values/dns-names.js';
import { type Nanoseconds, nanosPerMicrosecond } from '../../domain/values/go-duration.js';
import { formatIp, ipFamily, parseIp } from '../../domain/values/ip-address.js';
import { parseQuantity, quantityValue } from '../../domain/values/quantity.js';
import type { Micros } from '../../ports/micros.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import type { DaemonProfile } from './daemon-profile.js';

/** From the end of one relist to the beginning of the next, on a runtime without events. */
const relistPeriod: Micros = 1_000_000;

/** @param node null: the node is in no cluster */
export function kubeletSettings(
  loaded: LoadedConfiguration,
  profile: DaemonProfile,
  nodeName: string,
  runtimeSendsEvents: boolean,
  node: NodeSettings | null,
  credentialProviders: readonly CredentialProvider[],
  host: {
    readonly userNamespaces: UserNamespaceSettings;
    readonly apparmorEnabled: boolean;
    readonly alignment: AlignmentSettings;
    readonly dra: AgentSettings['dra'];
    readonly nodeCgroups: NodeCgroupSettings;
    readonly setAside: AgentSettings['setAside'];
    readonly observedTimes: AgentSettings['observedTimes'];
  },
): KubeletSettings {
  const { configuration: c, options, gates, features } = loaded;
  const manifests = { nodeName, preventApiReferences: features.preventsStaticPodReferences };
  const maximum = c.crashLoopBackOff.maxContainerRestartPeriod;
  return {
    agent: {
      nodeName,
      apiserver: node !== null,
      trustBundleProjection: features.clusterTrustBundles,
      podCertificateProjection: features.podCertificates,
      objectChangeDetection: changeDetection(c.configMapAndSecretChangeDetectionStrategy, node !== null),
      nodeIps: nodeIpsOf(options.nodeIp),
      podLogsDirectory: c.podLogsDir,
      containerLogLinks: profile.containerLogLinks,
      runtimeRequestTimeout: micros(c.runtimeRequestTimeout),
      relistPeriod,
      runtimeSendsEvents,
      syncFrequency: micros(takenPeriod(c, 'syncFrequency')),
      maxContainerRestartPeriod: maximum === null ? null : micros(maximum),
      containerGc: {
        minAge: micros(options.minimumContainerTtlDuration),
        maxPerPodContainer: options.maximumDeadContainersPerContainer,
        maxContainers: options.maximumDeadContainers,
      },
      logRotation: logRotationOf(c),
      allowedSysctls: allowedSysctls(c.allowedUnsafeSysctls ?? []),
      appArmorProblem: (profile.apparmorEnabled ?? host.apparmorEnabled) ? null : appArmorDisabled,
      podLevelResources: features.podLevelResources,
      resizeGates: {
        podLevel: features.resizesPods,
        initContainers: features.resizesInitContainers,
      },
      declaredFeatures: features.declaresFeatures ? declaredFeatures(gates) : null,
      images: imageSettings(loaded, credentialProviders),
      imageGc: profile.ownsImages ? imageGcOf(c) : noImageGc,
      ownsImages: profile.ownsImages,
      eviction: evictionOf(loaded),
      shutdownPriorities: shutdownPrioritiesOf(loaded),
      podCidr: c.podCIDR,
      userNamespaces: host.userNamespaces,
      cgroupsPerQos: c.cgroupsPerQOS,
      nodeCgroups: host.nodeCgroups,
      takesPlugins: true,
      alignment: host.alignment,
      dra: host.dra,
      setAside: host.setAside,
      observedTimes: host.observedTimes,
    },
    node,
    fileSource: c.staticPodPath === '' ? null : { ...manifests, path: c.staticPodPath, checkPeriod: micros(takenPeriod(c, 'fileCheckFrequency')) },
    urlSource: c.staticPodURL === '' ? null : { ...manifests, url: c.staticPodURL, headers: c.staticPodURLHeader, checkPeriod: micros(takenPeriod(c, 'httpCheckFrequency')) },
  };
}

/** On a runtime that may have another owner, this agent doesn't remove unused images. */
const noImageGc: ImageGcPolicy = { highThresholdPercent: 100, lowThresholdPercent: 0, minAge: 0, maxAge: 0 };

function imageGcOf(c: KubeletConfiguration): ImageGcPolicy {
  return {
    highThresholdPercent: c.imageGCHighThresholdPercent,
    lowThresholdPercent: c.imageGCLowThresholdPercent,
    minAge: micros(c.imageMinimumGCAge),
    maxAge: micros(c.imageMaximumGCAge),
  };
}

/** @throws StartRefusal for thresholds that can't be read */
function evictionOf({ configuration: c, options }: LoadedConfiguration): EvictionSettings {
  const { evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim } = c;
  const texts = { evictionHard: evictionHard ?? {}, evictionSoft: evictionSoft ?? {}, evictionSoftGracePeriod: evictionSoftGracePeriod ?? {} };
  const enforceNodeAllocatable = options.experimentalAllocatableIgnoreEviction ? [] : c.enforceNodeAllocatable;
  const parsed = parseEvictionThresholds({ ...texts, evictionMinimumReclaim: evictionMinimumReclaim ?? {}, enforceNodeAllocatable });
  if (!parsed.ok) throw new StartRefusal(`failed to run Kubelet: failed to create kubelet: ${parsed.error}`);
  return {
    thresholds: parsed.value,
    policy: {
      pressureTransitionPeriod: micros(c.evictionPressureTransitionPeriod),
      maxPodGracePeriodSeconds: c.evictionMaxPodGracePeriod,
      localStorageCapacityIsolation: c.localStorageCapacityIsolation,
    },
  };
}

function shutdownPrioritiesOf({ configuration: c, features }: LoadedConfiguration): readonly ShutdownPriority[] {
  if (!features.nodeShutdown) return [];
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods } = c;
  const byPriority = features.nodeShutdownByPriority ? (c.shutdownGracePeriodByPodPriority ?? []) : [];
  return shutdownPriorities({ shutdownGracePeriod, shutdownGracePeriodCriticalPods, shutdownGracePeriodByPodPriority: byPriority });
}

/** Null where the size is negative: then nothing is rotated. */
function logRotationOf(c: KubeletConfiguration): LogRotationPolicy | null {
  const size = parseQuantity(c.containerLogMaxSize);
  if (!size.ok) {
    const what = `failed to parse container log max size ${JSON.stringify(c.containerLogMaxSize)}: ${size.error}`;
    throw new StartRefusal(`failed to run Kubelet: failed to initialize container log manager: ${what}`);
  }
  const maxSizeBytes = Number(quantityValue(size.quantity));
  if (maxSizeBytes < 0) return null;
  return { maxSizeBytes, maxFiles: c.containerLogMaxFiles, maxWorkers: c.containerLogMaxWorkers, monitorInterval: micros(c.containerLogMonitorInterval) };
}

/** Safe sysctls on this kernel, and those that the configuration allows. */
function allowedSysctls(unsafe: readonly string[]): readonly string[] {
  const parsed = parseSysctlAllowlist(unsafe);
  if (!parsed.ok) throw new StartRefusal(`failed to run Kubelet: allowedUnsafeSysctls: ${parsed.error}`);
  return [...safeSysctlNames(release()), ...unsafe];
}

function imageSettings({ configuration: c, features }: LoadedConfiguration, credentialProviders: readonly CredentialProvider[]): ImageSettings {
  return {
    limits: { parallel: c.serializeImagePulls ? 1 : c.maxParallelImagePulls, perSecond: c.registryPullQPS, burst: c.registryBurst },
    verification: features.verifiesPulledImages ? verificationPolicy(c.imagePullCredentialsVerificationPolicy, c.preloadedImagesVerificationAllowlist ?? []) : null,
    credentialProviders,
  };
}

/** The configuration was validated: no other text is possible. */
function verificationPolicy(text: string, allowlist: readonly string[]): VerificationPolicy {
  switch (text) {
    case 'NeverVerify':
    case 'AlwaysVerify':
      return { kind: text };
    case 'NeverVerifyAllowlistedImages':
      return { kind: text, allowlist };
    default:
      return { kind: 'NeverVerifyPreloadedImages' };
  }
}

/** Without an apiserver there are no changes to detect. */
function changeDetection(strategy: string, hasApiserver: boolean): ChangeDetection {
  const known = (['Watch', 'Cache', 'Get'] as const).find((name) => name === strategy);
  if (known === undefined && hasApiserver) throw new StartRefusal(`failed to run Kubelet: unknown configmap and secret manager mode: ${strategy}`);
  return known ?? 'Watch';
}

export function micros(nanoseconds: Nanoseconds): Micros {
  return Math.round(nanoseconds / nanosPerMicrosecond);
}

/** The node's name: the override or the host's name, trimmed, in lower case. */
export function nodeNameOf(hostnameOverride: string, hostname: string): string {
  const name = (hostnameOverride.trim() === '' ? hostname : hostnameOverride).trim().toLowerCase();
  if (name === '') throw new StartRefusal('failed to run Kubelet: empty hostname is invalid');
  const problems = dns1123SubdomainProblems(name);
  const source = hostnameOverride.trim() === '' ? 'the name of the host' : '--hostname-override';
  if (problems.length > 0) throw new StartRefusal(`failed to run Kubelet: invalid node name ${JSON.stringify(name)} (${source}): ${problems.join(', ')}`);
  return name;
}

/** `--node-ip`: one address, or one of each family. Ignores malformed ones, as the Go kubelet does; the caller logs it. */
export function nodeIpsOf(text: string): readonly string[] {
  const addresses = text
    .split(',')
    .map((part) => parseIp(part.trim()))
    .filter((address) => address !== null);
  const isPair = addresses.length === 2 && ipFamily(addresses[0]!) !== ipFamily(addresses[1]!);
  const refuse = (why: string) => new StartRefusal(`failed to run Kubelet: bad --node-ip ${JSON.stringify(text)}: ${why}`);
  if (addresses.length > 1 && !isPair) throw refuse('must contain either a single IP or a dual-stack pair of IPs');
  const ips = addresses.map(formatIp);
  if (isPair && ips.some((ip) => ip === '0.0.0.0' || ip === '::')) throw refuse("dual-stack node IP cannot include '0.0.0.0' or '::'");
  return ips;
}
