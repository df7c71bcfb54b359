// The CPU manager's state: the shared pool, the exclusive CPUs of containers, and the state file with both.
// Invariants: the shared pool and the exclusive sets are disjoint and together all CPUs (minus strictly reserved ones); CPUs are
// released only when their pod is no longer active, and never before all pod sources have reported, else a restart would release the CPUs
// of running containers.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { type ContainerName, type CpuCheckpoint, cpuCheckpointName, readCpuCheckpoint, writeCpuCheckpoint } from '../checkpoints/cpu-checkpoint.js';
import type { View } from '../kernel/view.js';
import { isRestartableInit } from '../status/restart-rules.js';
import type { ActivePods } from '../topology-manager/active-pods.js';
import type { Allocation } from '../topology-manager/pod-admission.js';
import type { ProviderHints, TopologyHint } from '../topology-manager/topology-hint.js';
import { type CpuSet, cpuSetDifference, cpuSetOf, cpuSetUnion, formatCpuSet, parseCpuSet } from '../values/cpu-set.js';
import { isZeroQuantity, type Quantity, quantityMilliValue } from '../values/quantity.js';
import { byCodeUnits } from '../values/text-order.js';
import { cpuHints } from './cpu-hints.js';
import { type CpuOptionGates, cpuOptionsConflict, parseCpuOptions } from './cpu-options.js';
import { discoverCpuTopology, type PhysicalCore } from './cpu-topology.js';
import {
  allocatableCpus,
  allocateCpus,
  availableCpus,
  exclusiveCpuCount,
  exclusivePodCpuCount,
  initialSharedPool,
  newStaticPolicy,
  type StaticPolicy,
  type StaticPolicyResult,
  smtAlignmentError,
  stateProblem,
} from './static-policy.js';

type Assignments = Map<string, Map<string, CpuSet>>;

/** Plain data, changed in place by the functions of this folder. */
export interface CpuManager {
  /** null: policy `none`, which allocates nothing. */
  readonly policy: StaticPolicy | null;
  sharedPool: CpuSet;
  /** Pod uid -> container -> its own CPUs. */
  readonly assignments: Assignments;
  /** CPUs that finished init containers leave to the later containers of their pod; only of the pod that was admitted last. */
  reusable: { readonly podUid: string; readonly cpus: CpuSet } | null;
  /** Pod uid -> container -> the set last sent to the runtime. */
  readonly lastUpdates: Assignments;
  /** The content for the state file; kept as it was read until the state changes. null: to be computed again. */
  fileText: string | null;
}

export interface CpuManagerConfig {
  readonly policy: string;
  readonly policyOptions: Readonly<Record<string, string>>;
  readonly gates: CpuOptionGates;
  readonly topologyManagerPolicy: string;
  readonly cores: readonly PhysicalCore[];
  /** CPUs reserved for the system and for Kubernetes together; null: no reservation of cpu. */
  readonly cpuReservation: Quantity | null;
  /** `reservedSystemCPUs`; empty: the manager chooses. */
  readonly reservedCpus: CpuSet;
  readonly stateDirectory: string;
  /** null if absent. */
  readonly stateFile: string | null;
  /** Container id -> whose it is, as the runtime knows; needed to read the oldest form of the file. */
  readonly containers: ReadonlyMap<string, ContainerName>;
}

export type CpuManagerStart = { readonly ok: true; readonly manager: CpuManager } | { readonly ok: false; readonly error: string };

/** Builds the policy, then loads the state file. A failure of either refuses the start, and an administrator must resolve it. */
export function startCpuManager(config: CpuManagerConfig): CpuManagerStart {
  const built = policyOf(config);
  if (!built.ok) return built;
  const loaded = config.stateFile === null ? newState() : loadState(config.stateFile, config);
  if (typeof loaded === 'string') {
    const remedy = `please drain this node and delete the CPU manager checkpoint file "${config.stateDirectory}/${cpuCheckpointName}" before restarting Kubelet`;
    return { ok: false, error: `could not restore state from checkpoint: ${loaded}, ${remedy}` };
  }
  const manager: CpuManager = { policy: built.policy, reusable: null, lastUpdates: new Map(), ...loaded };
  if (built.policy === null) return { ok: true, manager };
  const problem = stateProblem(built.policy, manager.sharedPool, manager.assignments);
  if (problem !== null) return { ok: false, error: problem };
  if (manager.sharedPool.length === 0) {
    manager.sharedPool = initialSharedPool(built.policy);
    manager.fileText = null;
  }
  return { ok: true, manager };
}

function policyOf(config: CpuManagerConfig): { readonly ok: true; readonly policy: StaticPolicy | null } | { readonly ok: false; readonly error: string } {
  const { policy, policyOptions, cpuReservation } = config;
  if (policy === 'none') {
    const given = Object.keys(policyOptions).sort(byCodeUnits);
    if (given.length === 0) return { ok: true, policy: null };
    return failed(`new none policy error: None policy: received unsupported options=map[${given.map((name) => `${name}:${policyOptions[name]}`).join(' ')}]`);
  }
  if (policy !== 'static') return failed(`unknown policy: ${JSON.stringify(policy)}`);
  const discovery = discoverCpuTopology(config.cores);
  if (!discovery.ok) return discovery;
  if (cpuReservation === null) return failed('[cpumanager] unable to determine reserved CPU resources for static policy');
  if (isZeroQuantity(cpuReservation)) return failed('[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero');
  const built = staticPolicyOf(config, discovery.topology, Math.ceil(Number(quantityMilliValue(cpuReservation)) / 1000));
  return built.ok ? built : failed(`new static policy error: ${built.error}`);
}

function staticPolicyOf(config: CpuManagerConfig, topology: StaticPolicy['topology'], reservedCount: number): StaticPolicyResult {
  const parsed = parseCpuOptions(config.policyOptions, config.gates);
  if (!parsed.ok) return parsed;
  const conflict = cpuOptionsConflict(parsed.options, topology, config.topologyManagerPolicy);
  return conflict === null ? newStaticPolicy(topology, parsed.options, reservedCount, config.reservedCpus) : { ok: false, error: conflict };
}

function failed(error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error };
}

type LoadedState = Pick<CpuManager, 'sharedPool' | 'assignments' | 'fileText'>;

function newState(): LoadedState {
  return { sharedPool: [], assignments: new Map(), fileText: null };
}

/** The reason as text when the file can't be used. */
function loadState(text: string, config: CpuManagerConfig): LoadedState | string {
  const read = readCpuCheckpoint(text, config.containers);
  if (!read.ok) return read.error;
  const { policyName, defaultCpuSet, entries }: CpuCheckpoint = read.value;
  if (policyName !== config.policy) return `configured policy ${JSON.stringify(config.policy)} differs from state checkpoint policy ${JSON.stringify(policyName)}`;
  const sharedPool = parseCpuSet(defaultCpuSet);
  if (!sharedPool.ok) return `could not parse default cpu set ${JSON.stringify(defaultCpuSet)}: ${sharedPool.error}`;
  const assignments: Assignments = new Map();
  for (const [podUid, containers] of entries ?? []) {
    const ofPod = new Map<string, CpuSet>();
    for (const [container, cpus] of containers) {
      const parsed = parseCpuSet(cpus);
      if (!parsed.ok) return `could not parse cpuset ${JSON.stringify(cpus)} for container ${JSON.stringify(container)} in pod ${JSON.stringify(podUid)}: ${parsed.error}`;
      ofPod.set(container, parsed.value);
    }
    assignments.set(podUid, ofPod);
  }
  return { sharedPool: sharedPool.value, assignments, fileText: text };
}

/** The content for the state file. */
export function cpuStateFile(manager: CpuManager): string {
  manager.fileText ??= writeCpuCheckpoint({
    policyName: manager.policy === null ? 'none' : 'static',
    defaultCpuSet: formatCpuSet(manager.sharedPool),
    entries: new Map([...manager.assignments].map(([uid, containers]) => [uid, new Map([...containers].map(([name, cpus]) => [name, formatCpuSet(cpus)]))])),
    podEntries: null,
  }).content;
  return manager.fileText;
}

/** CPUs available for exclusive allocation. Policy `none` has none. */
export function allocatableExclusiveCpus(manager: View<CpuManager>): CpuSet {
  return manager.policy === null ? [] : allocatableCpus(manager.policy);
}

/** The CPUs a container may run on: its own, or the shared pool. Empty: any (policy `none`). */
export function containerCpus(manager: View<CpuManager>, podUid: string, containerName: string): CpuSet {
  return manager.assignments.get(podUid)?.get(containerName) ?? manager.sharedPool;
}

/** Whether a container of the pod has CPUs of its own: its CPU quota is then lifted. */
export function hasExclusiveCpus(manager: View<CpuManager>, podUid: string): boolean {
  return manager.assignments.has(podUid);
}

/** Releases the CPUs of containers whose pods are no longer active. */
export function collectStaleCpus(manager: CpuManager, active: ActivePods): void {
  if (!active.sourcesReady) return;
  const stale = (of: Assignments): (readonly [string, string])[] =>
    [...of].flatMap(([uid, containers]) => [...containers.keys()].filter((name) => !active.hasContainer(uid, name)).map((name) => [uid, name] as const));
  for (const [podUid, name] of stale(manager.assignments)) release(manager, podUid, name);
  for (const [podUid, name] of stale(manager.lastUpdates)) remove(manager.lastUpdates, podUid, name);
}

function release(manager: CpuManager, podUid: string, containerName: string): void {
  const cpus = manager.assignments.get(podUid)?.get(containerName) ?? [];
  remove(manager.assignments, podUid, containerName);
  // Init containers share CPUs with later containers of their pod; what those still have stays theirs.
  const siblings = cpuSetOf([...(manager.assignments.get(podUid)?.values() ?? [])].flat());
  manager.sharedPool = cpuSetUnion(manager.sharedPool, cpuSetDifference(cpus, siblings));
  manager.fileText = null;
}

function remove(from: Assignments, podUid: string, containerName: string): void {
  const containers = from.get(podUid);
  containers?.delete(containerName);
  if (containers?.size === 0) from.delete(podUid);
}

/** null: the container has no exclusive CPUs, so any placement does. */
export function cpuContainerHints(manager: CpuManager, pod: Pod, container: Container): ProviderHints | null {
  const count = manager.policy === null ? 0 : exclusiveCpuCount(pod, container);
  if (manager.policy === null || count === 0) return null;
  const { topology, options } = manager.policy;
  const podUid = pod.metadata.uid ?? '';
  const assigned = manager.assignments.get(podUid)?.get(container.name);
  if (assigned === undefined) return cpuAnswer(cpuHints(topology, options.alignBySocket, availableCpus(manager.policy, manager.sharedPool), reusableOf(manager, podUid), count));
  return cpuAnswer(assigned.length === count ? cpuHints(topology, options.alignBySocket, assigned, [], count) : []);
}

/** As for a container; CPUs of the pod's containers are part of every hint. */
export function cpuPodHints(manager: CpuManager, pod: Pod): ProviderHints | null {
  const count = manager.policy === null ? 0 : exclusivePodCpuCount(pod);
  if (manager.policy === null || count === 0) return null;
  const { topology, options } = manager.policy;
  const podUid = pod.metadata.uid ?? '';
  let assigned: CpuSet = [];
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    const cpus = manager.assignments.get(podUid)?.get(container.name);
    if (cpus === undefined) continue;
    if (cpus.length !== exclusiveCpuCount(pod, container)) return cpuAnswer([]);
    assigned = cpuSetUnion(assigned, cpus);
  }
  if (assigned.length === count) return cpuAnswer(cpuHints(topology, options.alignBySocket, assigned, [], count));
  const reusable = cpuSetUnion(reusableOf(manager, podUid), assigned);
  return cpuAnswer(cpuHints(topology, options.alignBySocket, availableCpus(manager.policy, manager.sharedPool), reusable, count));
}

function cpuAnswer(hints: readonly TopologyHint[]): ProviderHints {
  return new Map([['cpu', hints]]);
}

function reusableOf(manager: CpuManager, podUid: string): CpuSet {
  return manager.reusable?.podUid === podUid ? manager.reusable.cpus : [];
}

const smtAlignmentReason = 'SMTAlignmentError';

/** Allocates the container's exclusive CPUs, if any; keeps existing ones. */
export function allocateContainerCpus(manager: CpuManager, pod: Pod, container: Container, hint: TopologyHint): Allocation {
  const { policy } = manager;
  const count = policy === null ? 0 : exclusiveCpuCount(pod, container);
  if (policy === null || count === 0) return { kind: 'allocated' };
  const smtError = smtAlignmentError(policy, manager.sharedPool, count);
  if (smtError !== null) return { kind: 'failed', message: smtError, reason: smtAlignmentReason };
  if (keepsCpus(manager, pod, container)) return { kind: 'allocated' };
  const podUid = pod.metadata.uid ?? '';
  const allocation = allocateCpus(policy, manager.sharedPool, reusableOf(manager, podUid), hint.numaNodes, count);
  if (!allocation.ok) return { kind: 'failed', message: allocation.error, reason: null };
  manager.sharedPool = allocation.sharedPool;
  const ofPod = manager.assignments.get(podUid) ?? new Map<string, CpuSet>();
  manager.assignments.set(podUid, ofPod.set(container.name, allocation.cpus));
  manager.fileText = null;
  noteReuse(manager, pod, container, allocation.cpus);
  return { kind: 'allocated' };
}

/** Whether the container has CPUs of its own from before, which it keeps. */
export function keepsCpus(manager: CpuManager, pod: Pod, container: Container): boolean {
  const assigned = manager.assignments.get(pod.metadata.uid ?? '')?.get(container.name);
  if (assigned !== undefined) noteReuse(manager, pod, container, assigned);
  return assigned !== undefined;
}

/** A plain init container leaves its CPUs to the pod's later containers; those of a container that keeps running are used up. */
function noteReuse(manager: CpuManager, pod: Pod, container: Container, cpus: CpuSet): void {
  const podUid = pod.metadata.uid ?? '';
  const before = reusableOf(manager, podUid);
  const leaves = (pod.spec.initContainers ?? []).some((init) => init.name === container.name && !isRestartableInit(init));
  manager.reusable = { podUid, cpus: leaves ? cpuSetUnion(before, cpus) : cpuSetDifference(before, cpus) };
}
