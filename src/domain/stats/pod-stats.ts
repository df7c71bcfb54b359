// The pods of the stats summary: the runtime's containers, with the numbers of their cgroups where available.
// Invariants: a pod is listed only with a running container that has a reading. The pod's cgroup counts for the whole pod, and without one the sum of the
// runtime's readings.
import type { Instant } from '../../ports/instant.js';
import type { CgroupSample } from '../../ports/model/cgroup-sample.js';
import type { FilesystemNumbers, RootFilesystem, RuntimeContainerReading, Used } from '../../ports/model/node-measurements.js';
import type { ContainerStats, NetworkStats, PodStats, VolumeStats } from '../../ports/model/stats-summary.js';
import { byCodeUnits } from '../values/text-order.js';
import { type CgroupStats, cgroupNetwork, cgroupProcesses } from './cgroup-stats.js';
import { ephemeralStorage, onRootFilesystem } from './filesystem-stats.js';
import { type Cgroups, liveCgroups, podCgroupKey, podCgroups } from './live-cgroups.js';
import { referenceNumbers, type SummaryNumbers } from './reference-numbers.js';
import { writableLayerStats } from './runtime-stats.js';

export interface StatsSandbox {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly createdAt: Instant;
  readonly isReady: boolean;
}
export interface StatsContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly createdAt: Instant;
  readonly isRunning: boolean;
}

export interface PodStatsFacts {
  readonly sandboxes: readonly StatsSandbox[];
  readonly containers: readonly StatsContainer[];
  /** In the order of the container list. */
  readonly readings: readonly RuntimeContainerReading[];
  readonly cgroups: Cgroups;
  readonly root: RootFilesystem;
  /** By mount point. */
  readonly filesystems: Readonly<Record<string, FilesystemNumbers>>;
  /** By pod uid and container name. */
  readonly containerLogs: (uid: string, containerName: string) => Used | null;
  /** Files next to the containers' log directories. */
  readonly podLogs: (uid: string) => Used | null;
  readonly etcHosts: (uid: string) => Used | null;
  readonly ephemeralVolumes: (uid: string) => readonly VolumeStats[];
  readonly persistentVolumes: (uid: string) => readonly VolumeStats[];
}

interface GatheredContainer {
  readonly container: StatsContainer;
  readonly reading: RuntimeContainerReading;
  readonly cgroup: CgroupSample | null;
}

interface Gathered {
  readonly sandbox: StatsSandbox;
  readonly containers: GatheredContainer[];
}

/** With all available numbers. */
export function podStats(facts: PodStatsFacts, wall: Instant): readonly PodStats[] {
  return [...eachPodStats(facts, wall)];
}

/** One after the other, so that a caller with many pods may rest between them. */
export function* eachPodStats(facts: PodStatsFacts, wall: Instant, by: SummaryNumbers = referenceNumbers): Generator<PodStats> {
  const live = liveCgroups(facts.cgroups);
  const ofPods = podCgroups(facts.cgroups);
  for (const { sandbox, containers } of gathered(facts, live)) {
    const { uid } = sandbox;
    const fromRuntime = () => containers.map(({ container, reading }) => by.ofRuntime(container.name, container.createdAt, reading, wall));
    const all = containers.map((one): ContainerStats => {
      const { container, reading } = one;
      const logs = facts.containerLogs(uid, container.name);
      const files = { rootfs: writableLayerStats(reading, facts.filesystems, by.time), ...(logs === null ? {} : { logs: onRootFilesystem(facts.root, logs) }) };
      return Object.assign(containerNumbers(one, wall, by), files);
    });
    const volumes = facts.ephemeralVolumes(uid);
    const listedVolumes = [...volumes, ...facts.persistentVolumes(uid)];
    const podFiles = [facts.podLogs(uid), facts.etcHosts(uid)].filter((used) => used !== null).map((used) => onRootFilesystem(facts.root, used));
    const pod = podIdentity(sandbox, all, by);
    addNumbers(pod, podNumbers(ofPods.get(podCgroupKey(uid)) ?? null, fromRuntime, by), true);
    const network = networkOf(live.get(sandbox.id) ?? null);
    if (network !== null) pod.network = network;
    if (listedVolumes.length > 0) pod.volume = listedVolumes;
    pod['ephemeral-storage'] = ephemeralStorage(facts.root, all, volumes, podFiles);
    const processes = processesOf(containers.map(({ cgroup }) => cgroup));
    if (processes !== null) pod.process_stats = processes;
    yield pod;
  }
}

type CpuAndMemoryFacts = Pick<PodStatsFacts, 'sandboxes' | 'containers' | 'readings' | 'cgroups'>;

/** Only CPU, memory and swap: cheap enough for frequent requests. */
export function podCpuAndMemoryStats(facts: CpuAndMemoryFacts, wall: Instant): readonly PodStats[] {
  return [...eachPodCpuAndMemoryStats(facts, wall)];
}

export function* eachPodCpuAndMemoryStats(facts: CpuAndMemoryFacts, wall: Instant, by: SummaryNumbers = referenceNumbers): Generator<PodStats> {
  const ofPods = podCgroups(facts.cgroups);
  for (const { sandbox, containers } of gathered(facts, liveCgroups(facts.cgroups))) {
    const fromRuntime = () => containers.map(({ container, reading }) => by.cpuAndMemoryOfRuntime(container.name, container.createdAt, reading, wall));
    const all = containers.map((one) => containerCpuAndMemory(one, wall, by));
    const pod = podIdentity(sandbox, all, by);
    addNumbers(pod, podNumbers(ofPods.get(podCgroupKey(sandbox.uid)) ?? null, fromRuntime, by), false);
    yield pod;
  }
}

/** Running containers that were read, by sandbox, in the order of namespace, name and uid. */
function gathered(facts: Pick<PodStatsFacts, 'sandboxes' | 'containers' | 'readings'>, live: ReadonlyMap<string, CgroupSample>): readonly Gathered[] {
  const running = new Map(facts.containers.filter(({ isRunning }) => isRunning).map((container) => [container.id, container]));
  const sandboxes = new Map(countedSandboxes(facts.sandboxes).map((sandbox) => [sandbox.id, sandbox]));
  const pods = new Map<string, Gathered>();
  for (const reading of facts.readings) {
    const container = running.get(reading.containerId);
    const sandbox = container === undefined ? undefined : sandboxes.get(container.sandboxId);
    if (container === undefined || sandbox === undefined) continue;
    const pod = pods.get(sandbox.id) ?? { sandbox, containers: [] };
    pods.set(sandbox.id, pod);
    pod.containers.push({ container, reading, cgroup: live.get(container.id) ?? null });
  }
  const order = (a: StatsSandbox, b: StatsSandbox): number =>
    byCodeUnits(a.namespace, b.namespace) || byCodeUnits(a.name, b.name) || byCodeUnits(a.uid, b.uid) || byCodeUnits(a.id, b.id);
  return [...pods.values()].sort((a, b) => order(a.sandbox, b.sandbox));
}

/** Of several sandboxes of one pod name the ready ones, or else the newest; a single one in any state. */
function countedSandboxes(sandboxes: readonly StatsSandbox[]): readonly StatsSandbox[] {
  const byName = new Map<string, StatsSandbox[]>();
  for (const sandbox of sandboxes) {
    const key = JSON.stringify([sandbox.namespace, sandbox.name]);
    byName.set(key, [...(byName.get(key) ?? []), sandbox]);
  }
  return [...byName.values()].flatMap((same) => {
    const ready = same.filter(({ isReady }) => isReady);
    if (same.length === 1 || ready.length > 0) return same.length === 1 ? same : ready;
    return [same.reduce((newest, sandbox) => (sandbox.createdAt >= newest.createdAt ? sandbox : newest))];
  });
}

/** A pod's statistics under construction. */
type PodDraft = { -readonly [Key in keyof PodStats]: PodStats[Key] };

function podIdentity({ name, namespace, uid, createdAt }: StatsSandbox, containers: readonly ContainerStats[], { time }: SummaryNumbers): PodDraft {
  return { podRef: { name, namespace, uid }, ...started(time(createdAt)), containers };
}

function started(startTime: string | null): { readonly startTime?: string } {
  return startTime === null ? {} : { startTime };
}

function addNumbers(pod: PodDraft, { cpu, memory, swap, io }: CgroupStats, withIo: boolean): void {
  if (cpu !== undefined) pod.cpu = cpu;
  if (memory !== undefined) pod.memory = memory;
  if (swap !== undefined) pod.swap = swap;
  if (withIo && io !== undefined) pod.io = io;
}

/** Computes the runtime's numbers only if the cgroup lacks some, which is rare. */
function containerNumbers({ container, reading, cgroup }: GatheredContainer, wall: Instant, by: SummaryNumbers): ContainerStats {
  const own: CgroupStats = cgroup === null ? {} : by.ofCgroup(cgroup);
  const { cpu, memory, swap, io } = own;
  if (cpu === undefined || memory === undefined || swap === undefined || io === undefined) {
    return { ...by.ofRuntime(container.name, container.createdAt, reading, wall), ...own };
  }
  return { name: container.name, ...started(by.time(container.createdAt)), cpu, swap, memory, io };
}

function containerCpuAndMemory({ container, reading, cgroup }: GatheredContainer, wall: Instant, by: SummaryNumbers): ContainerStats {
  const own: CgroupStats = cgroup === null ? {} : by.ofCgroup(cgroup);
  const { cpu, memory, swap } = own;
  if (cpu === undefined || memory === undefined || swap === undefined) {
    return { ...by.cpuAndMemoryOfRuntime(container.name, container.createdAt, reading, wall), ...withoutIo(own) };
  }
  return { name: container.name, ...started(by.time(container.createdAt)), cpu, swap, memory };
}

function podNumbers(cgroup: CgroupSample | null, containers: () => readonly ContainerStats[], by: SummaryNumbers): CgroupStats {
  return cgroup === null ? by.sum(containers()) : by.ofCgroup(cgroup);
}

function networkOf(sandbox: CgroupSample | null): NetworkStats | null {
  return sandbox === null ? null : cgroupNetwork(sandbox);
}

function processesOf(cgroups: readonly (CgroupSample | null)[]): { readonly process_count: number } | null {
  const counts = cgroups.map((cgroup) => (cgroup === null ? null : cgroupProcesses(cgroup))).filter((count) => count !== null);
  return counts.length === 0 ? null : { process_count: counts.reduce((total, { process_count }) => total + process_count, 0) };
}

function withoutIo({ io: _io, ...rest }: CgroupStats): CgroupStats {
  return rest;
}
