// Wires the node's statistics to the host: which cgroups are read, which file systems are measured, and the routes that serve them.

import { CriStats } from '../../adapters/cri/index.js';
import { type KubeletRoute, metricsRoute, statsSummaryRoute } from '../../adapters/http-server/index.js';
import { CgroupReader, directFilesUsage, ProcessReader, parseBootTime, readCgroupLayout, textOrEmpty, treeEntriesMax, treeUsage } from '../../adapters/linux/index.js';
import { familyTexts, metricsContentType, resourceFamilies } from '../../adapters/metrics/index.js';
import {
  type CadvisorAnswersOptions,
  cadvisorMachine,
  cadvisorTexts,
  deviceNames,
  driverUsage,
  filesystemNumbers,
  NodeSampler,
  NodeStats,
  nodeStatsReading,
  ownCgroup,
  PodDiskUsage,
  processCounts,
  quotaUsage,
  resourcesOf,
  rootFilesystems,
  type SampledCgroup,
  spareDescriptors,
  summaryOf,
} from '../../adapters/node-stats/index.js';
import { cgroupPath } from '../../domain/cgroups/cgroup-name.js';
import { nodeAllocatableCgroup } from '../../domain/cgroups/pod-cgroup-name.js';
import { containerImages } from '../../domain/pod-cache/container-images.js';
import { summaryRules } from '../../domain/stats/summary-rules.js';
import { epochMicros, instantOf } from '../../domain/values/instant.js';
import { measuredVolumes } from '../../domain/volume-manager/measured-volumes.js';
import type { MissingPart, Part, SystemCgroup } from '../../ports/model/node-measurements.js';
import type { StatsSummary } from '../../ports/model/stats-summary.js';
import type { MachineReading } from '../../ports/outbound/machine.js';
import type { NodeStatsReading } from '../../ports/outbound/node-stats.js';
import type { Resolver } from '../bind-to.js';
import { tokens } from '../tokens.js';
import type { DaemonContext } from './daemon-context.js';
import { micros } from './kubelet-settings.js';
import type { Teardown } from './teardown.js';

const calling = () => ({ signal: new AbortController().signal, timeoutMicros: null });

export interface NodeNumbers {
  readonly summary: () => Promise<Part<StatsSummary>>;
  /** For the agent's own decisions. */
  readonly reading: () => Promise<NodeStatsReading>;
  /** The sampled cgroups. */
  readonly cgroups: () => Promise<readonly SampledCgroup[]>;
  /** /stats/summary, /metrics/resource and /metrics/cadvisor. */
  readonly routes: readonly KubeletRoute[];
  readonly diskUsage: PodDiskUsage;
}

/** Nothing is read before the first request. */
export async function openNodeStats(context: DaemonContext, resolver: Resolver, teardown: Teardown, nodeName: string, startedMillis: number): Promise<NodeNumbers> {
  const { clock, loaded } = context;
  const machine = await resolver.get(tokens.machine).read(null, calling());
  const diskUsage = podDiskUsage(context, resolver);
  const criStats = new CriStats(resolver.get(tokens.runtimeService).runtimeService, resolver.get(tokens.imageService).imageService);
  const stats = new NodeStats({
    sampler: openSampler(context, resolver, teardown),
    runtime: resolver.get(tokens.runtime),
    criStats,
    diskUsage,
    filesystemUsage: context.native.filesystemUsage,
    rootDirectory: loaded.options.rootDir,
    pods: () => resolver.get(tokens.queries).pods().items ?? [],
    now: () => clock.now(),
    wall: () => clock.wall(),
  });
  const bootSeconds = parseBootTime(await textOrEmpty('/proc/stat')) ?? 0;
  const onMissing = ({ part, error }: MissingPart) => context.logger.log('warn', 'The stats summary lacks a part of the node that could not be read', { part, err: error });
  const node = { name: nodeName, bootedAt: instantOf(bootSeconds * 1_000_000), systemCgroups: systemCgroups(context, podsCgroupOf(context, resolver), startedMillis), machine };
  const summary = { stats, node, rules: summaryRules, processCounts: () => processCounts(machine.maxPids), onMissing };
  const page = { contentType: metricsContentType, headers: {} };
  const cadvisor = cadvisorOptions(context, resolver, stats, criStats, machine);
  const routes = [
    statsSummaryRoute((only) => summaryOf(summary, only)),
    metricsRoute('/metrics/resource', { ...page, texts: async () => familyTexts(resourceFamilies(await resourcesOf(summary))) }),
    metricsRoute('/metrics/cadvisor', { ...page, texts: () => cadvisorTexts(cadvisor) }),
  ];
  return {
    routes,
    diskUsage,
    summary: () => summaryOf(summary, false),
    reading: () => nodeStatsReading(summary, loaded.options.rootDir),
    cgroups: async () => (await stats.snapshot(true)).cgroups,
  };
}

function openSampler(context: DaemonContext, resolver: Resolver, teardown: Teardown): NodeSampler | null {
  const { native, clock, loaded } = context;
  const { configuration, options } = loaded;
  const layout = readCgroupLayout('/proc/self/mountinfo');
  if (layout.hierarchies.length === 0) return null;
  const reader = new CgroupReader({ native, layout, nowMillis: () => Math.floor(epochMicros(clock.wall()) / 1_000), now: () => clock.now(), descriptorsMax: spareDescriptors() });
  teardown.add('cgroup reader', () => reader.close());
  const processes = new ProcessReader({ native });
  teardown.add('process reader', () => processes.close());
  const { kubeletCgroups, systemCgroups: misc } = configuration;
  const trees = [podsCgroupOf(context, resolver)];
  const single = [kubeletCgroups === '' ? ownCgroup() : kubeletCgroups, options.runtimeCgroups, misc].filter((path) => path !== '');
  const sampler = new NodeSampler({ reader, processes, trees, single, now: () => clock.now() });
  teardown.add('node sampler', () => sampler.close());
  return sampler;
}

/** Without cgroups of their own pods may be anywhere below the configured root. */
function podsCgroupOf({ loaded: { configuration } }: DaemonContext, resolver: Resolver): string {
  const { driver } = resolver.get(tokens.cgroupDriving);
  return cgroupPath(driver, nodeAllocatableCgroup(configuration.cgroupRoot, configuration.cgroupsPerQOS));
}

function systemCgroups({ loaded }: DaemonContext, podsCgroup: string, startedMillis: number): readonly SystemCgroup[] {
  const { configuration, options } = loaded;
  const kubelet = configuration.kubeletCgroups === '' ? ownCgroup() : configuration.kubeletCgroups;
  return [
    { name: 'kubelet', path: kubelet, startedAt: instantOf(startedMillis * 1_000) },
    { name: 'runtime', path: options.runtimeCgroups, startedAt: null },
    { name: 'misc', path: configuration.systemCgroups, startedAt: null },
    { name: 'pods', path: configuration.cgroupsPerQOS ? podsCgroup : '', startedAt: null },
  ];
}

function podDiskUsage({ loaded, clock, native }: DaemonContext, resolver: Resolver): PodDiskUsage {
  const { configuration, options, features } = loaded;
  const reportsHealth = features.csiVolumeHealth;
  const endpointOf = (name: string) => resolver.get(tokens.kernel).state.agent.plugins.drivers.get(name)?.endpoint ?? null;
  return new PodDiskUsage({
    walks: {
      files: directFilesUsage,
      tree: treeUsage,
      quota: (place) => quotaUsage(resolver.get(tokens.projectQuotas), place),
      volume: (path) => native.trees.usage(path, treeEntriesMax).catch(() => null),
      filesystem: (path) => filesystemNumbers(native.filesystemUsage, path),
      driver: (volume, abnormal) => driverUsage(resolver.get(tokens.csiNode), endpointOf, volume, reportsHealth, abnormal),
    },
    volumes: ({ metadata: { uid = '' } }) => {
      const { agent } = resolver.get(tokens.kernel).state;
      return measuredVolumes(agent.volumes, uid, agent.nodeFacts);
    },
    rootDirectory: options.rootDir,
    podLogsDirectory: configuration.podLogsDir,
    volumePeriod: micros(configuration.volumeStatsAggPeriod),
    now: () => clock.now(),
    wall: () => clock.wall(),
    random: Math.random,
    onAbnormal: (uid, volumeName, message) => resolver.get(tokens.inbox).deliver({ type: 'volumeAbnormal', uid, volumeName, message }),
    onMeasured: (took, source) => resolver.get(tokens.observer).volumeMeasured(took, source),
  });
}

function cadvisorOptions({ native, clock, loaded }: DaemonContext, resolver: Resolver, stats: NodeStats, criStats: CriStats, machine: MachineReading): CadvisorAnswersOptions {
  let sandboxImage: string | null = null;
  return {
    stats,
    nowMillis: () => Math.floor(epochMicros(clock.wall()) / 1_000),
    machine: async () => {
      sandboxImage ??= await criStats.sandboxImage(calling()).catch(() => null);
      return cadvisorMachine(machine);
    },
    memoryBytes: machine.memoryBytes,
    images: () => containerImages(resolver.get(tokens.kernel).state.agent.cache),
    sandboxImage: () => sandboxImage ?? '',
    rootFilesystems: () => rootFilesystems(native.filesystemUsage, loaded.options.rootDir),
    deviceName: (device) => deviceNames().get(device) ?? '',
  };
}
