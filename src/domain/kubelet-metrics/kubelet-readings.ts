// Values that /metrics reads from the agent at a scrape, besides the counters.
// Invariant: it reads and changes nothing.

import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Used } from '../../ports/model/node-measurements.js';
import type { Pod } from '../../ports/model/pod.js';
import type { VolumeStats } from '../../ports/model/stats-summary.js';
import type { KubeletReading } from '../../ports/outbound/metrics/kubelet-metrics.js';
import type { AgentState } from '../agent/agent-state.js';
import type { KubeletState } from '../agent/kubelet.js';
import { activePods } from '../agent/pod-workers/active-pods.js';
import type { AlignedAt } from '../agent/resource-managers/alignment-state.js';
import { stateFilesOf } from '../agent/resource-managers/state-files.js';
import { setAsideUids } from '../agent/set-aside/aside-pods.js';
import { unwrittenSeconds } from '../checkpoints/state-file-writer.js';
import { podCertificateStates } from '../pod-certificates/pod-certificates.js';
import type { PodWorkerRecord } from '../pod-workers/pod-worker-record.js';
import { stateOf } from '../pod-workers/pod-worker-record.js';
import { cpuSetIntersection, cpuSetOf } from '../values/cpu-set.js';
import { type Clocks, epochMicros, instantAfter, instantOf } from '../values/instant.js';
import { metricPluginName } from '../volume-manager/metric-plugin-name.js';
import type { VolumeSpec } from '../volumes/volume-spec.js';
import type { AgentObserver } from './agent-observer.js';
import { staticLabel } from './observed-pods.js';

/** The last measurements of a pod's logs and volumes. */
export interface MeasuredDiskUsage {
  /** null: the pod is not measured yet. */
  of(uid: string): { readonly containerLogs: ReadonlyMap<string, Used>; readonly persistent: readonly VolumeStats[] } | null;
}

export interface ReadingOptions {
  readonly state: KubeletState;
  readonly observer: AgentObserver;
  readonly diskUsage: MeasuredDiskUsage;
  readonly bootedAt: Instant;
  readonly startedAt: Instant;
  clocks(): Clocks;
}

export function agentReadings({ state, observer, diskUsage, bootedAt, startedAt, clocks }: ReadingOptions): readonly KubeletReading[] {
  const { agent } = state;
  const read = clocks();
  return [
    ...podReadings(agent),
    ...workingPods(agent),
    ...containerReadings(agent),
    ...volumeReadings(agent),
    ...certificateReadings(agent, read),
    ...diskReadings([...agent.pods.pods.values()], diskUsage),
    ...imageReadings(agent),
    ...alignmentReadings(agent),
    ...claimReadings(agent),
    ...resizeReadings(agent),
    ...pluginReadings(agent),
    ...orphanReadings(agent),
    ...asideReadings(agent),
    ...stateFileReadings(agent, read.now),
    ['kubelet_graceful_shutdown_start_time_seconds', {}, wholeSeconds(agent.shutdown.manager.startedAt)],
    ['kubelet_graceful_shutdown_end_time_seconds', {}, wholeSeconds(agent.shutdown.manager.endedAt)],
    ['kubelet_pleg_last_seen_seconds', {}, agent.pleg.lastRelist === null ? 0 : Math.floor(epochMicros(instantAfter(read.wall, agent.pleg.lastRelist - read.now)) / 1e6)],
    ['kubelet_pleg_discard_events', {}, agent.pleg.discardedEvents],
    ['kubelet_first_network_pod_start_sli_duration_seconds', {}, observer.pods?.firstNetworkPodSeconds ?? 0],
    ...startupReadings(observer, epochMicros(bootedAt), epochMicros(startedAt)),
    ...(agent.eventRecorder === null ? [] : [['kubelet_ts_events_dropped_total', {}, agent.eventRecorder.dropped] as const]),
    ...(observer.isRuntimeOld ? [['kubelet_cri_losing_support', { version: '1.37.0' }, 1] as const] : []),
  ];
}

/** Pods whose objects can't be read are left alone, too, but not for what they did to the kubelet. */
export function asideReadings(agent: Pick<AgentState, 'setAside'>): readonly KubeletReading[] {
  return [['kubelet_ts_pods_set_aside', {}, setAsideUids(agent).length]];
}

/** For how long the content of each state file has been out of date on disk. */
export function stateFileReadings(agent: Parameters<typeof stateFilesOf>[0], now: Micros): readonly KubeletReading[] {
  return stateFilesOf(agent).map((file) => ['kubelet_ts_state_file_unwritten_seconds', { file: file.name }, unwrittenSeconds(file, now)]);
}

function claimReadings({ dra }: AgentState): readonly KubeletReading[] {
  if (dra === null) return [];
  const counts = new Map<string, number>();
  for (const { drivers } of dra.claims.values()) for (const driver of drivers.keys()) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  const perDriver = [...counts].map(([driver, count]) => ['dra_resource_claims_in_use', { driver_name: driver }, count] as const);
  return [['dra_resource_claims_in_use', { driver_name: '<any>' }, dra.claims.size], ...perDriver];
}

function alignmentReadings({ alignment }: AgentState): readonly KubeletReading[] {
  if (alignment === null) return [];
  const { cpu, counters } = alignment;
  const exclusive = cpuSetOf([...cpu.assignments.values()].flatMap((containers) => [...containers.values()].flat()));
  const topology = cpu.policy?.topology ?? null;
  const perNode = topology === null ? [] : [...topology.groups.numaNode].map(([node, cpus]) => [node, cpuSetIntersection(cpus, exclusive).length] as const);
  return [
    ['kubelet_cpu_manager_exclusive_cpu_allocation_count', {}, exclusive.length],
    ['kubelet_cpu_manager_shared_pool_size_millicores', {}, cpu.sharedPool.length * 1000],
    ...perNode.map(([node, count]) => ['kubelet_cpu_manager_allocation_per_numa', { numa_node: String(node) }, count] as const),
    ['kubelet_cpu_manager_pinning_requests_total', {}, counters.cpuPinnings],
    ['kubelet_cpu_manager_pinning_errors_total', {}, counters.cpuPinningErrors],
    ['kubelet_memory_manager_pinning_requests_total', {}, counters.memoryPinnings],
    ['kubelet_memory_manager_pinning_errors_total', {}, counters.memoryPinningErrors],
    ['kubelet_topology_manager_admission_requests_total', {}, counters.admissions],
    ['kubelet_topology_manager_admission_errors_total', {}, counters.admissionErrors],
    ...[...counters.aligned].map(([at, count]) => ['kubelet_container_aligned_compute_resources_count', alignmentLabels(at), count] as const),
    ...[...counters.unaligned].map(([at, count]) => ['kubelet_container_aligned_compute_resources_failure_count', alignmentLabels(at), count] as const),
  ];
}

function alignmentLabels(at: AlignedAt): { readonly boundary: string; readonly scope: string } {
  const [scope = '', boundary = ''] = at.split(' ');
  return { boundary, scope };
}

/** Resizes that wait, that are being actuated, and what was counted of all. */
export function resizeReadings({ allocation: { conditions, counters } }: Pick<AgentState, 'allocation'>): readonly KubeletReading[] {
  const pending = new Map([
    ['deferred', 0],
    ['infeasible', 0],
  ]);
  let inProgress = 0;
  for (const one of conditions.values()) {
    const reason = one.pending?.reason?.toLowerCase();
    if (reason !== undefined) pending.set(reason, (pending.get(reason) ?? 0) + 1);
    if (one.inProgress !== null) inProgress++;
  }
  return [
    ['kubelet_pod_in_progress_resizes', {}, inProgress],
    ...[...pending].map(([reason, count]) => ['kubelet_pod_pending_resizes', { reason }, count] as const),
    ...[...counters.requested].map(([key, count]): KubeletReading => {
      const [resource = '', requirement = '', operation = ''] = key.split(' ');
      return ['kubelet_container_requested_resizes_total', { operation, requirement, resource }, count];
    }),
    ...[...counters.infeasible].map(([detail, count]) => ['kubelet_pod_infeasible_resizes_total', { reason_detail: detail }, count] as const),
    ...[...counters.deferredAccepted].map(([trigger, count]) => ['kubelet_pod_deferred_accepted_resizes_total', { retry_trigger: trigger }, count] as const),
  ];
}

/** Sockets of plugins that are there, and those whose plugin is registered. */
export function pluginReadings({ plugins }: Pick<AgentState, 'plugins'>): readonly KubeletReading[] {
  return [...plugins.sockets.values()].flatMap(({ path, seen, phase }) => {
    const states = [...(phase === 'registered' ? ['actual_state_of_world'] : []), ...(seen === null ? [] : ['desired_state_of_world'])];
    return states.map((state) => ['plugin_manager_total_plugins', { socket_path: path, state }, 1] as const);
  });
}

export function orphanReadings({ housekeeping: { orphansSeen, retries } }: Pick<AgentState, 'housekeeping'>): readonly KubeletReading[] {
  let failing = 0;
  for (const key of retries.failures.keys()) if (key.startsWith('directory/')) failing++;
  return [
    ['kubelet_orphan_pod_cleaned_volumes', {}, orphansSeen],
    ['kubelet_orphan_pod_cleaned_volumes_errors', {}, failing],
  ];
}

function wholeSeconds(at: Instant | null): number {
  return Math.floor(epochMicros(at ?? instantOf(0)) / 1e6);
}

function countStatic(pods: readonly Pod[]): { readonly isStatic: number; readonly others: number } {
  const isStatic = pods.filter((pod) => staticLabel(pod) === 'true').length;
  return { isStatic, others: pods.length - isStatic };
}

function podReadings(agent: AgentState): readonly KubeletReading[] {
  const desired = countStatic([...agent.pods.pods.values()]);
  const active = countStatic(activePods(agent));
  return [
    ['kubelet_desired_pods', { static: 'true' }, desired.isStatic],
    ['kubelet_desired_pods', { static: '' }, desired.others],
    ['kubelet_active_pods', { static: 'true' }, active.isStatic],
    ['kubelet_active_pods', { static: '' }, active.others],
    ['kubelet_mirror_pods', {}, agent.pods.mirrors.size],
  ];
}

const lifecycles = ['sync', 'terminating', 'terminated'] as const;

function workingPods(agent: AgentState): readonly KubeletReading[] {
  const counts = new Map<string, number>();
  for (const config of ['desired', 'orphan']) for (const lifecycle of lifecycles) for (const isStatic of ['', 'true']) counts.set(`${config}/${lifecycle}/${isStatic}`, 0);
  for (const lifecycle of lifecycles) counts.set(`runtime_only/${lifecycle}/unknown`, 0);
  for (const record of agent.workers.records.values()) {
    if (record.finished) continue;
    const key = workingKey(agent, record);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => {
    const [config = '', lifecycle = '', isStatic = ''] = key.split('/');
    return ['kubelet_working_pods', { config, lifecycle, static: isStatic }, count];
  });
}

function workingKey({ pods }: AgentState, record: PodWorkerRecord): string {
  const pod = pods.pods.get(record.uid);
  if (pod !== undefined) return `desired/${stateOf(record)}/${staticLabel(pod)}`;
  const update = record.active ?? record.pending ?? record.run?.update ?? null;
  if (update?.pod == null) return `runtime_only/${stateOf(record)}/unknown`;
  return `orphan/${stateOf(record)}/${staticLabel(update.pod)}`;
}

function containerReadings({ cache, pods }: AgentState): readonly KubeletReading[] {
  const states: Record<string, number> = {};
  let runningPods = 0;
  for (const { cached } of cache.entries.values()) {
    if (cached.kind !== 'status') continue;
    if (cached.status.sandboxes.some(({ state }) => state === 'ready')) runningPods++;
    for (const { state } of cached.status.containers) states[state] = (states[state] ?? 0) + 1;
  }
  let ephemeral = 0;
  for (const { spec } of pods.pods.values()) ephemeral += spec.ephemeralContainers?.length ?? 0;
  return [
    ['kubelet_running_pods', {}, runningPods],
    ...Object.entries(states).map(([state, count]): KubeletReading => ['kubelet_running_containers', { container_state: state }, count]),
    ['kubelet_managed_ephemeral_containers', {}, ephemeral],
  ];
}

/** Volumes of the actual and the desired state, and warnings about their SELinux labels. */
export function volumeReadings({ volumes }: Pick<AgentState, 'volumes'>): readonly KubeletReading[] {
  type Counted = { readonly plugin: string; readonly pods: ReadonlyMap<string, { readonly spec: VolumeSpec }> };
  const count = (state: string, of: Iterable<Counted>): readonly KubeletReading[] => {
    const plugins = new Map<string, number>();
    for (const { plugin, pods } of of) {
      const [first] = pods.values();
      const name = metricPluginName(plugin, first?.spec ?? null);
      plugins.set(name, (plugins.get(name) ?? 0) + pods.size);
    }
    return [...plugins].map(([plugin, total]) => ['volume_manager_total_volumes', { plugin_name: plugin, state }, total]);
  };
  const labels = [...volumes.labelCounts.values()].map((one): KubeletReading => {
    if (one.plugin === null) return [`volume_manager_selinux_${one.metric}_total`, { access_mode: one.accessMode }, one.count];
    return [`volume_manager_selinux_${one.metric}_total`, { access_mode: one.accessMode, volume_plugin: one.plugin }, one.count];
  });
  return [...count('actual_state_of_world', volumes.actual.values()), ...count('desired_state_of_world', volumes.desired.values()), ...labels];
}

function certificateReadings({ api }: AgentState, clocks: Clocks): readonly KubeletReading[] {
  const states = api === null ? [] : podCertificateStates(api.podCertificates, clocks);
  return states.map(({ signerName, state, count }) => ['kubelet_podcertificate_states', { signer_name: signerName, state }, count]);
}

function diskReadings(pods: readonly Pod[], diskUsage: MeasuredDiskUsage): readonly KubeletReading[] {
  const readings: KubeletReading[] = [];
  const claims = new Set<string>();
  for (const { metadata } of pods) {
    const { uid = '', name: pod, namespace = '' } = metadata;
    const usage = diskUsage.of(uid);
    for (const [container, { usedBytes }] of usage?.containerLogs ?? []) {
      readings.push(['kubelet_container_log_filesystem_used_bytes', { container, namespace, pod, uid }, usedBytes ?? 0]);
    }
    for (const { pvcRef, volumeHealthStats, capacityBytes = 0, availableBytes = 0, usedBytes = 0, inodes = 0, inodesFree = 0, inodesUsed = 0 } of usage?.persistent ?? []) {
      const key = `${pvcRef?.namespace}/${pvcRef?.name}`;
      // A claim of several pods is reported once.
      if (pvcRef === undefined || claims.has(key)) continue;
      claims.add(key);
      const labels = { namespace: pvcRef.namespace, persistentvolumeclaim: pvcRef.name };
      readings.push(['kubelet_volume_stats_capacity_bytes', labels, capacityBytes], ['kubelet_volume_stats_available_bytes', labels, availableBytes]);
      readings.push(['kubelet_volume_stats_used_bytes', labels, usedBytes], ['kubelet_volume_stats_inodes', labels, inodes]);
      readings.push(['kubelet_volume_stats_inodes_free', labels, inodesFree], ['kubelet_volume_stats_inodes_used', labels, inodesUsed]);
      if (volumeHealthStats !== undefined) readings.push(['kubelet_volume_stats_health_status_abnormal', labels, volumeHealthStats.abnormal ? 1 : 0]);
    }
  }
  return readings;
}

/** The limit of `pull-record-store.ts`. */
const recordsInMemoryMax = 2_000;

function imageReadings({ images }: AgentState): readonly KubeletReading[] {
  const { records, intentFiles, checks } = images.records;
  let known = 0;
  for (const record of records.values()) if (record !== null) known++;
  return [
    ['kubelet_imagemanager_inmemory_pulledrecords_usage_percent', {}, (100 * records.size) / recordsInMemoryMax],
    ['kubelet_imagemanager_ondisk_pulledrecords', {}, known],
    ['kubelet_imagemanager_ondisk_pullintents', {}, intentFiles.size],
    ...[...checks].map(([result, count]) => ['kubelet_imagemanager_image_mustpull_checks_total', { result }, count] as const),
  ];
}

function startupReadings(observer: AgentObserver, bootedAt: Micros, startedAt: Micros): readonly KubeletReading[] {
  const startup = observer.node?.startup(bootedAt, startedAt);
  if (startup === undefined) return [];
  return [
    ['kubelet_node_startup_pre_kubelet_duration_seconds', {}, startup.preKubelet],
    ['kubelet_node_startup_pre_registration_duration_seconds', {}, startup.preRegistration],
    ['kubelet_node_startup_registration_duration_seconds', {}, startup.registration],
    ['kubelet_node_startup_post_registration_duration_seconds', {}, startup.postRegistration],
    ['kubelet_node_startup_duration_seconds', {}, startup.total],
  ];
}
