// The settings of an agent, fixed at its start; from the KubeletConfiguration and the flags, in the domain's units.
import type { Micros } from '../../ports/micros.js';
import { safeSysctlNames } from '../admission/sysctl-gate.js';
import type { ResizeGates } from '../allocation/allocated-pod.js';
import type { ChangeDetection } from '../api-data/object-manager.js';
import type { EvictionSettings } from '../eviction/eviction-loop.js';
import type { ContainerGcPolicy } from '../gc/container-gc.js';
import type { ImageGcPolicy } from '../gc/image-gc.js';
import { defaultImageSettings, type ImageSettings } from '../images/image-manager-state.js';
import type { LogRotationPolicy } from '../logs/log-rotation.js';
import type { ShutdownPriority } from '../node-shutdown/shutdown-groups.js';
import { doneFeatures } from '../node-status/declared-features.js';
import type { PodSource } from '../pod-sources/pod-config.js';
import { defaultUserNamespaces, type UserNamespaceSettings } from '../user-namespaces/id-range.js';
import { defaultNodeCgroups, type NodeCgroupSettings } from './cgroups/node-cgroups-state.js';
import type { ObservedTimesSettings } from './observed-times/observed-times-state.js';
import type { AlignmentSettings } from './resource-managers/alignment-state.js';
import type { SetAsideSettings } from './set-aside/set-aside-state.js';

export interface AgentSettings {
  readonly nodeName: string;
  /** Configured addresses of the node; the first decides the primary family of pod addresses. */
  readonly nodeIps: readonly string[];
  readonly podLogsDirectory: string;
  /** The directory of symlinks for log collectors; null: none are made. */
  readonly containerLogLinks: string | null;
  /** The node has an apiserver: its pods come from it too, and the agent writes to it. */
  readonly apiserver: boolean;
  /** How changes of secrets and config maps are noticed. */
  readonly objectChangeDetection: ChangeDetection;
  /** Projected volumes may show the cluster's trust bundles (`ClusterTrustBundleProjection`). */
  readonly trustBundleProjection: boolean;
  /** Projected volumes may contain certificates for the pod (`PodCertificateRequest`). */
  readonly podCertificateProjection: boolean;
  /** Pod sources that are configured; nothing is cleaned up before each has reported. */
  readonly sources: readonly PodSource[];
  readonly runtimeRequestTimeout: Micros;
  /** From the end of one relist to the beginning of the next, on a runtime without events. */
  readonly relistPeriod: Micros;
  /** The runtime sends events: relisting is only the safety net. */
  readonly runtimeSendsEvents: boolean;
  /** How often a pod is synced when nothing happens. */
  readonly syncFrequency: Micros;
  /** Longest back-off between restarts of a container; null: the default. */
  readonly maxContainerRestartPeriod: Micros | null;
  readonly containerGc: ContainerGcPolicy;
  /** null: logs grow without limit. */
  readonly logRotation: LogRotationPolicy | null;
  /** Names and prefixes (`net.core.*`) of kernel parameters that pods may set; patterns that `parseSysctlAllowlist` takes. */
  readonly allowedSysctls: readonly string[];
  /** Why this host can't enforce AppArmor profiles: pods with a profile are refused with it. null: it can. */
  readonly appArmorProblem: string | null;
  /** Pods may have resources of their own beside those of their containers (`PodLevelResources`). */
  readonly podLevelResources: boolean;
  /** Which resources of a running pod can be resized, besides those of its containers. */
  readonly resizeGates: ResizeGates;
  /** Features that a pod may need of its node; pods that need another one are refused. null: not checked (`NodeDeclaredFeatures` is off). */
  readonly declaredFeatures: readonly string[] | null;
  readonly images: ImageSettings;
  readonly imageGc: ImageGcPolicy;
  /** This agent is the only user of the runtime's images: unused ones may be removed when the disk is short. */
  readonly ownsImages: boolean;
  /** Eviction thresholds of the node, and limits of a pod's disk usage. */
  readonly eviction: EvictionSettings;
  /** How long the node's shutdown waits for pods of which priority, lowest first; empty: it doesn't. */
  readonly shutdownPriorities: readonly ShutdownPriority[];
  /** The pod CIDR that a node without an apiserver sends to its runtime; '': none. */
  readonly podCidr: string;
  /** The host ids for pods with user namespaces. */
  readonly userNamespaces: UserNamespaceSettings;
  /** Whether pods get cgroups of their own. */
  readonly cgroupsPerQos: boolean;
  /** The node's resource claims, from the previous agent's state file (null: absent). null: pods with claims can't run here. */
  readonly dra: { readonly checkpoint: string | null } | null;
  /** The values of the cgroup of all pods. */
  readonly nodeCgroups: NodeCgroupSettings;
  /** Plugins may register at the node. */
  readonly takesPlugins: boolean;
  /** Exclusive CPUs and memory of containers; null: disabled. `startAlignment` accepts these settings. */
  readonly alignment: AlignmentSettings | null;
  /** Pods whose input has ended earlier agents. */
  readonly setAside: SetAsideSettings;
  /** When pods and containers started and ended, as an earlier agent observed it. */
  readonly observedTimes: ObservedTimesSettings;
}

export const defaultSettings: AgentSettings = {
  nodeName: 'localhost',
  nodeIps: [],
  podLogsDirectory: '/var/log/pods',
  containerLogLinks: '/var/log/containers',
  apiserver: false,
  objectChangeDetection: 'Watch',
  trustBundleProjection: false,
  podCertificateProjection: false,
  sources: ['file'],
  runtimeRequestTimeout: 120_000_000,
  relistPeriod: 1_000_000,
  runtimeSendsEvents: false,
  syncFrequency: 60_000_000,
  maxContainerRestartPeriod: null,
  containerGc: { minAge: 0, maxPerPodContainer: 1, maxContainers: -1 },
  logRotation: { maxSizeBytes: 10 * 1024 * 1024, maxFiles: 5, maxWorkers: 1, monitorInterval: 10_000_000 },
  allowedSysctls: safeSysctlNames(''),
  appArmorProblem: null,
  podLevelResources: true,
  resizeGates: { podLevel: true, initContainers: true },
  declaredFeatures: doneFeatures,
  images: defaultImageSettings,
  imageGc: { highThresholdPercent: 85, lowThresholdPercent: 80, minAge: 120_000_000, maxAge: 0 },
  ownsImages: true,
  shutdownPriorities: [],
  eviction: { thresholds: [], policy: { pressureTransitionPeriod: 300_000_000, maxPodGracePeriodSeconds: 0, localStorageCapacityIsolation: false } },
  podCidr: '',
  userNamespaces: defaultUserNamespaces,
  cgroupsPerQos: true,
  dra: null,
  nodeCgroups: defaultNodeCgroups,
  takesPlugins: false,
  alignment: null,
  setAside: { ends: [], forgiven: null },
  observedTimes: { text: null, bootId: '', bootedAt: 0 },
};
