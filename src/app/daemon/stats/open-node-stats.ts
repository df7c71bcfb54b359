// Wires the node's statistics to the host: which cgroups are read, which file systems are measured, and the routes that serve them.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { CriStats } from '../../../adapters/cri/index.js';
import { type KubeletRoute, metricsRoute, statsSummaryRoute } from '../../../adapters/http-server/index.js';
import {
  CgroupReader,
  directFilesUsage,
  ProcessReader,
  parseBootTime,
  parseDiskstats,
  parseOpenFilesLimit,
  parseTaskCount,
  readCgroupLayout,
  statsDescriptorsMax,
  textOrEmpty,
  textOrEmptyNow,
  treeEntriesMax,
  treeUsage,
} from '../../../adapters/linux/index.js';
import { type CadvisorFilesystem, type CadvisorMachine, familyTexts, metricsContentType, resourceFamilies } from '../../../adapters/metrics/index.js';
import { parseMountinfo } from '../../../adapters/native-linux/index.js';
import { cgroupPath } from '../../../domain/cgroups/cgroup-name.js';
import { nodeAllocatableCgroup } from '../../../domain/cgroups/pod-cgroup-name.js';
import type { MissingPart } from '../../../domain/stats/measured-summary.js';
import type { Part } from '../../../domain/stats/node-summary.js';
import { parseCpuSet } from '../../../domain/values/cpu-set.js';
import { epochMicros, instantOf } from '../../../domain/values/instant.js';
import { measuredVolumes } from '../../../domain/volume-manager/measured-volumes.js';
import type { StatsSummary } from '../../../ports/model/stats-summary.js';
import type { PortOf } from '../../../ports/operation.js';
import type { FilesystemUsageOperations } from '../../../ports/outbound/filesystem-usage.js';
import type { MachineReading } from '../../../ports/outbound/machine.js';
import type { NodeStatsReading } from '../../../ports/outbound/node-stats.js';
import type { ProjectQuotaOperations, QuotaPlace } from '../../../ports/outbound/project-quotas.js';
import type { Resolver } from '../../bind-to.js';
import { tokens } from '../../tokens.js';
import type { DaemonContext } from '../daemon-context.js';
import { micros } from '../kubelet-settings.js';
import type { Teardown } from '../teardown.js';
import { type CadvisorAnswersOptions, cadvisorTexts } from './cadvisor-answers.js';
import { driverUsage } from './driver-usage.js';
import { NodeSampler, type SampledCgroup } from './node-sampler.js';
import { filesystemNumbers, NodeStats } from './node-stats.js';
import { PodDiskUsage } from './pod-disk-usage.js';
import { nodeStatsReading, resourcesOf, summaryOf } from './summary-answers.js';

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
    systemCgroups: systemCgroups(context, podsCgroupOf(context, resolver), startedMillis),
    machine,
  });
  const bootSeconds = parseBootTime(await textOrEmpty('/proc/stat')) ?? 0;
  const onMissing = ({ part, error }: MissingPart) => context.logger.log('warn', 'The stats summary lacks a part of the node that could not be read', { part, err: error });
  const summary = { stats, nodeName, bootedAt: instantOf(bootSeconds * 1_000_000), processCounts: () => processCounts(machine.maxPids), onMissing };
  const page = { contentType: metricsContentType, headers: {} };
  const cadvisor = await cadvisorOptions(context, resolver, stats, criStats, machine);
  const routes = [
    statsSummaryRoute((only) => summaryOf(summary, only)),
    metricsRoute('/metrics/resource', { ...page, texts: async () => familyTexts(resourceFamilies(await resourcesOf(stats))) }),
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

/** A quarter of what this process may open. */
function spareDescriptors(): number {
  const limit = parseOpenFilesLimit(textOrEmptyNow('/proc/self/limits')) ?? statsDescriptorsMax * 4;
  return Math.min(statsDescriptorsMax, Math.floor(limit / 4));
}

/** Without cgroups of their own pods may be anywhere below the configured root. */
function podsCgroupOf({ loaded: { configuration } }: DaemonContext, resolver: Resolver): string {
  const { driver } = resolver.get(tokens.cgroupDriving);
  return cgroupPath(driver, nodeAllocatableCgroup(configuration.cgroupRoot, configuration.cgroupsPerQOS));
}

function systemCgroups({ loaded }: DaemonContext, podsCgroup: string, startedMillis: number) {
  const { configuration, options } = loaded;
  const kubelet = configuration.kubeletCgroups === '' ? ownCgroup() : configuration.kubeletCgroups;
  return [
    { name: 'kubelet', path: kubelet, startedAt: instantOf(startedMillis * 1_000) },
    { name: 'runtime', path: options.runtimeCgroups, startedAt: null },
    { name: 'misc', path: configuration.systemCgroups, startedAt: null },
    { name: 'pods', path: configuration.cgroupsPerQOS ? podsCgroup : '', startedAt: null },
  ] as const;
}

/** The cgroup that this process is in, if CPU and memory agree about it and it isn't the root; else ''. */
function ownCgroup(): string {
  try {
    const lines = readFileSync('/proc/self/cgroup', 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(':'));
    const of = (controller: string) =>
      lines
        .find(([, controllers = '']) => controllers.split(',').includes(controller))
        ?.slice(2)
        .join(':');
    const unified = lines
      .find(([number, controllers]) => number === '0' && controllers === '')
      ?.slice(2)
      .join(':');
    const [cpu, memory] = [of('cpu') ?? unified ?? '/', of('memory') ?? unified ?? '/'];
    return cpu === memory && cpu !== '/' ? cpu : '';
  } catch {
    return '';
  }
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

/** Also null if the kernel doesn't report it: the caller falls back to the walk. */
async function quotaUsage(port: PortOf<ProjectQuotaOperations>, place: QuotaPlace) {
  return port.usage(place, { signal: new AbortController().signal, timeoutMicros: null }).catch(() => null);
}

async function processCounts(maxPid: number) {
  const processes = parseTaskCount(await textOrEmpty('/proc/loadavg'));
  return processes === null ? null : { maxPid, processes };
}

async function cadvisorOptions(context: DaemonContext, resolver: Resolver, stats: NodeStats, criStats: CriStats, machine: MachineReading): Promise<CadvisorAnswersOptions> {
  const { native, clock, loaded } = context;
  const { agent } = resolver.get(tokens.kernel).state;
  let sandboxImage: string | null = null;
  const imageOf = (id: string, isSandbox: boolean): string => {
    if (isSandbox) return sandboxImage ?? '';
    for (const { cached } of agent.cache.entries.values()) {
      const found = cached.kind === 'status' ? cached.status.containers.find((container) => container.id === id) : undefined;
      if (found !== undefined) return found.image;
    }
    return '';
  };
  return {
    stats,
    nowMillis: () => Math.floor(epochMicros(clock.wall()) / 1_000),
    machine: async () => {
      sandboxImage ??= await criStats.sandboxImage(calling()).catch(() => null);
      return cadvisorMachine(machine);
    },
    imageOf,
    rootFilesystems: () => rootFilesystems(native.filesystemUsage, loaded.options.rootDir),
    deviceName: (device) => deviceNames().get(device) ?? '',
  };
}

function cadvisorMachine(machine: MachineReading): CadvisorMachine {
  const cores = new Set<string>();
  const sockets = new Set<string>();
  const online = parseCpuSet(readOr('/sys/devices/system/cpu/online').trim());
  for (const cpu of online.ok ? online.value : []) {
    const topology = `/sys/devices/system/cpu/cpu${cpu}/topology`;
    const socket = readOr(`${topology}/physical_package_id`).trim();
    sockets.add(socket);
    cores.add(`${socket}/${readOr(`${topology}/core_id`).trim()}`);
  }
  const name = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(machine.osRelease ?? '')?.[1] ?? 'Linux';
  const { machineId, systemUuid, bootId, cpus, memoryBytes, swapBytes } = machine;
  return {
    ...{ machineId, bootId, cpus, memoryBytes, swapBytes, osVersion: name },
    systemUuid: systemUuid === '' ? machineId : systemUuid,
    physicalCores: Math.max(1, cores.size),
    sockets: Math.max(1, sockets.size),
    kernelVersion: machine.kernelVersion ?? '',
  };
}

/** The file system below the root directory, under the device that it is on. */
async function rootFilesystems(port: PortOf<FilesystemUsageOperations>, rootDirectory: string): Promise<readonly CadvisorFilesystem[]> {
  const numbers = await filesystemNumbers(port, rootDirectory);
  if (numbers === null) return [];
  const within = (mountPoint: string): boolean => mountPoint === '/' || rootDirectory === mountPoint || rootDirectory.startsWith(`${mountPoint}/`);
  const mounts = parseMountinfo(readOr('/proc/self/mountinfo')).filter(({ mountPoint }) => within(mountPoint));
  const mount = mounts.reduce((best, one) => (one.mountPoint.length >= (best?.mountPoint.length ?? 0) ? one : best), mounts[0]);
  const { capacityBytes = 0, usedBytes = 0, inodes = 0, inodesFree = 0 } = numbers;
  // A file system without a disk of its own (overlay, network) has a number that no disk has.
  const disk = parseDiskstats(readOr('/proc/diskstats')).get(mount?.majorMinor ?? '') ?? null;
  return [{ device: mount?.source ?? '', capacityBytes, usedBytes, inodes, inodesFree, disk }];
}

let devices: ReadonlyMap<string, string> | null = null;

/** Block devices by `major:minor`, as /sys names them; read once, as devices with containers' data don't come and go. */
function deviceNames(): ReadonlyMap<string, string> {
  if (devices === null) {
    const directory = '/sys/dev/block';
    const numbers = existsSync(directory) ? readdirSync(directory) : [];
    devices = new Map(
      numbers.flatMap((number) => {
        const name = /^DEVNAME=(.*)$/m.exec(readOr(`${directory}/${number}/uevent`))?.[1];
        return name === undefined ? [] : [[number, `/dev/${name}`] as const];
      }),
    );
  }
  return devices;
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
