// Validation of a whole configuration: every rule is checked, all messages are kept, in the Go kubelet's order.
// Invariant: an empty answer means that no later part of the agent has to check these again.
import { formatDuration, type Nanoseconds, nanosPerMillisecond, nanosPerSecond } from '../values/go-duration.js';
import { goFloat, goList, goQuote } from '../values/go-text.js';
import { type FeatureGates, featureEnabled } from './feature-gates.js';
import type { KubeletConfiguration } from './schema.js';
import { enforcementProblems, reservationProblems, taintProblems, userNamespaceProblems } from './validate-node.js';
import { imageVerificationProblems, logProblems, tracingProblems } from './validate-services.js';

export interface ValidationHost {
  readonly cgroupVersion: 1 | 2;
}

/** Messages in the words of the rule that is broken; `gates` are those in force, the configuration's own among them. */
export function validateConfiguration(configuration: KubeletConfiguration, gates: FeatureGates, host: ValidationHost): string[] {
  return [
    ...invalid(numberProblems(configuration, gates)),
    ...taintProblems(configuration),
    ...invalid(topologyProblems(configuration)),
    ...invalid(shutdownProblems(configuration, gates)),
    ...invalid(swapProblems(configuration)),
    ...invalid(crashLoopProblems(configuration, gates)),
    ...invalid(enforcementProblems(configuration)),
    ...invalid(hairpinProblems(configuration)),
    ...invalid(imageVerificationProblems(configuration, gates)),
    ...invalid(reservationProblems(configuration)),
    ...userNamespaceProblems(configuration, host.cgroupVersion),
    ...hiddenMetricsProblems(configuration),
    ...tracingProblems(configuration),
    ...invalid(memoryProblems(configuration, gates)),
    ...invalid(logProblems(configuration)),
  ];
}

function invalid(problems: readonly string[]): string[] {
  return problems.map((problem) => `invalid configuration: ${problem}`);
}

/** The form of a duration within a structure in messages. */
function inBraces(nanos: Nanoseconds): string {
  return `{${formatDuration(nanos)}}`;
}

type Problem = string | false;
const failed = (problems: readonly Problem[]): string[] => problems.filter((problem) => problem !== false);

const notNegative = (label: string, value: number): Problem => value < 0 && `${label} ${value} must not be a negative number`;
const inRange = (label: string, value: number | string, [low, high]: readonly [number | string, number | string], holds: boolean): Problem =>
  !holds && `${label} ${value} must be between ${low} and ${high}, inclusive`;
const between = (label: string, value: number, low: number, high: number): Problem => inRange(label, value, [low, high], value >= low && value <= high);

function numberProblems(c: KubeletConfiguration, gates: FeatureGates): string[] {
  return failed([
    c.nodeLeaseDurationSeconds <= 0 && 'nodeLeaseDurationSeconds must be greater than 0',
    c.systemCgroups !== '' && c.cgroupRoot === '' && 'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    notNegative('eventBurst (--event-burst)', c.eventBurst),
    notNegative('eventRecordQPS (--event-qps)', c.eventRecordQPS),
    c.healthzPort !== 0 && between('healthzPort (--healthz-port)', c.healthzPort, 1, 65535),
    quotaPeriodProblem(c.cpuCFSQuotaPeriod, gates),
    between('imageGCHighThresholdPercent (--image-gc-high-threshold)', c.imageGCHighThresholdPercent, 0, 100),
    between('imageGCLowThresholdPercent (--image-gc-low-threshold)', c.imageGCLowThresholdPercent, 0, 100),
    c.imageGCLowThresholdPercent >= c.imageGCHighThresholdPercent &&
      `imageGCLowThresholdPercent (--image-gc-low-threshold) ${c.imageGCLowThresholdPercent} must be less than ` +
        `imageGCHighThresholdPercent (--image-gc-high-threshold) ${c.imageGCHighThresholdPercent}`,
    c.imageMinimumGCAge < 0 && `imageMinimumGCAge ${formatDuration(c.imageMinimumGCAge)} must not be negative`,
    c.imageMaximumGCAge < 0 && `imageMaximumGCAge ${formatDuration(c.imageMaximumGCAge)} must not be negative`,
    c.imageMaximumGCAge > 0 &&
      c.imageMaximumGCAge <= c.imageMinimumGCAge &&
      `imageMaximumGCAge ${formatDuration(c.imageMaximumGCAge)} must be greater than imageMinimumGCAge ${formatDuration(c.imageMinimumGCAge)}`,
    between('iptablesDropBit (--iptables-drop-bit)', c.iptablesDropBit, 0, 31),
    between('iptablesMasqueradeBit (--iptables-masquerade-bit)', c.iptablesMasqueradeBit, 0, 31),
    notNegative('kubeAPIBurst (--kube-api-burst)', c.kubeAPIBurst),
    notNegative('kubeAPIQPS (--kube-api-qps)', c.kubeAPIQPS),
    c.nodeStatusMaxImages < -1 && `nodeStatusMaxImages (--node-status-max-images) ${c.nodeStatusMaxImages} must be -1 or greater`,
    notNegative('maxOpenFiles (--max-open-files)', c.maxOpenFiles),
    notNegative('maxPods (--max-pods)', c.maxPods),
    between('oomScoreAdj (--oom-score-adj)', c.oomScoreAdj, -1000, 1000),
    notNegative('podsPerCore (--pods-per-core)', c.podsPerCore),
    between('port (--port)', c.port, 1, 65535),
    between('readOnlyPort (--read-only-port)', c.readOnlyPort, 0, 65535),
    notNegative('registryBurst (--registry-burst)', c.registryBurst),
    notNegative('registryPullQPS (--registry-qps)', c.registryPullQPS),
    c.maxParallelImagePulls !== null && c.maxParallelImagePulls < 1 && `maxParallelImagePulls ${c.maxParallelImagePulls} must be a positive number`,
    c.serializeImagePulls &&
      (c.maxParallelImagePulls ?? 0) > 1 &&
      'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    c.serverTLSBootstrap && !featureEnabled(gates, 'RotateKubeletServerCertificate') && 'serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate',
    c.runOnce && 'runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set',
  ]);
}

const kernelQuotaPeriod = 100 * nanosPerMillisecond;

function quotaPeriodProblem(period: Nanoseconds, gates: FeatureGates): Problem {
  const label = 'cpuCFSQuotaPeriod (--cpu-cfs-quota-period)';
  if (!featureEnabled(gates, 'CustomCPUCFSQuotaPeriod')) return period !== kernelQuotaPeriod && `${label} ${inBraces(period)} requires feature gate CustomCPUCFSQuotaPeriod`;
  return inRange(label, inBraces(period), ['1ms', '1sec'], period >= nanosPerMillisecond && period <= nanosPerSecond);
}

function topologyProblems(c: KubeletConfiguration): string[] {
  const policies = ['none', 'best-effort', 'restricted', 'single-numa-node'];
  return failed([
    !policies.includes(c.topologyManagerPolicy) &&
      `topologyManagerPolicy (--topology-manager-policy) ${goQuote(c.topologyManagerPolicy)} must be one of: ${goList(policies.map(goQuote))}`,
    !['container', 'pod'].includes(c.topologyManagerScope) &&
      `topologyManagerScope (--topology-manager-scope) ${goQuote(c.topologyManagerScope)} must be one of: "container", or "pod"`,
  ]);
}

function shutdownProblems(c: KubeletConfiguration, gates: FeatureGates): string[] {
  const total = c.shutdownGracePeriod;
  const critical = c.shutdownGracePeriodCriticalPods;
  const tooShort = (label: string, period: Nanoseconds): Problem =>
    period !== 0 && period < nanosPerSecond && `${label} ${inBraces(period)} must be either zero or otherwise >= 1 sec`;
  const given = total > 0 || critical > 0;
  const byPriority = c.shutdownGracePeriodByPodPriority.length > 0;
  const problems: Problem[] = featureEnabled(gates, 'GracefulNodeShutdown')
    ? [
        critical > total && `shutdownGracePeriodCriticalPods ${inBraces(critical)} must be <= shutdownGracePeriod ${inBraces(total)}`,
        tooShort('shutdownGracePeriod', total),
        tooShort('shutdownGracePeriodCriticalPods', critical),
      ]
    : [given && 'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown'];
  problems.push(
    featureEnabled(gates, 'GracefulNodeShutdownBasedOnPodPriority')
      ? byPriority && given && 'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time'
      : byPriority && 'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
  );
  return failed(problems);
}

function swapProblems(c: KubeletConfiguration): string[] {
  const { swapBehavior } = c.memorySwap;
  return failed([!['', 'NoSwap', 'LimitedSwap'].includes(swapBehavior) && `memorySwap.swapBehavior ${goQuote(swapBehavior)} must be one of: "", "LimitedSwap" or "NoSwap"`]);
}

function crashLoopProblems(c: KubeletConfiguration, gates: FeatureGates): string[] {
  const maximum = c.crashLoopBackOff.maxContainerRestartPeriod;
  if (maximum === null) return [];
  if (!featureEnabled(gates, 'KubeletCrashLoopBackOffMax'))
    return ['FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set'];
  const fits = maximum >= nanosPerSecond && maximum <= 300 * nanosPerSecond;
  return fits ? [] : [`CrashLoopBackOff.MaxContainerRestartPeriod (got: ${goFloat(maximum / nanosPerSecond)} seconds) must be set between 1s and 300s`];
}

function hairpinProblems(c: KubeletConfiguration): string[] {
  const message = `option ${goQuote(c.hairpinMode)} specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`;
  return ['none', 'hairpin-veth', 'promiscuous-bridge'].includes(c.hairpinMode) ? [] : [message];
}

/** The one older minor release whose hidden metrics can still be shown. */
const previousMinor = '1.35';

function hiddenMetricsProblems(c: KubeletConfiguration): string[] {
  const version = c.showHiddenMetricsForVersion;
  if (version === '' || version === previousMinor) return [];
  const rule = `must be omitted or have the value '${previousMinor}'; only the previous minor version is allowed`;
  return [`invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: ${goQuote(version)}: ${rule}`];
}

function memoryProblems(c: KubeletConfiguration, gates: FeatureGates): string[] {
  const factor = c.memoryThrottlingFactor;
  const policy = c.memoryReservationPolicy;
  return failed([
    !(factor > 0 && factor <= 1) && `memoryThrottlingFactor ${goFloat(factor)} must be greater than 0 and less than or equal to 1.0`,
    !['None', 'TieredReservation'].includes(policy) && `option ${goQuote(policy)} specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`,
    policy === 'TieredReservation' && !featureEnabled(gates, 'MemoryQoS') && `memoryReservationPolicy ${goQuote(policy)} requires MemoryQoS feature gate to be enabled`,
    c.containerRuntimeEndpoint === '' && 'the containerRuntimeEndpoint was not specified or empty',
    c.enableSystemLogQuery && !c.enableSystemLogHandler && 'enableSystemLogHandler is required for enableSystemLogQuery',
  ]);
}
