// The memory manager (policy Static): containers of Guaranteed pods get their memory and huge pages from certain NUMA nodes.
// Invariants: the nodes' reserved memory is the sum of all blocks; it is released only when the pod is no longer active, or, for
// a plain init container, when a later container of its pod starts; and never before all pod sources have reported.
import type { Container, ResourceList } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { type MemoryCheckpoint, memoryCheckpointName, readMemoryCheckpoint, writeMemoryCheckpoint } from '../checkpoints/memory-checkpoint.js';
import type { View } from '../kernel/view.js';
import { parsedList } from '../qos/pod-resources.js';
import { isRestartableInit } from '../status/restart-rules.js';
import type { ActivePods } from '../topology-manager/active-pods.js';
import { byCodeUnits } from '../values/text-order.js';
import {
  chargeMemory,
  emptyMachineState,
  type MachineState,
  type MemoryBlock,
  type MemoryReservation,
  type NumaMemory,
  type ReservedBytes,
  releaseMemory,
  reservedBytes,
  sameMachineState,
} from './machine-memory.js';

/** Plain data, changed in place by the functions of this folder. */
export interface MemoryManager {
  readonly policy: 'None' | 'Static';
  machine: MachineState;
  /** Pod uid -> container -> blocks, one for each kind of memory, in order of their names. */
  readonly assignments: Map<string, Map<string, readonly MemoryBlock[]>>;
  /** What finished init containers leave to later containers of their pod, by nodes and kind; only of the pod that was admitted last. */
  reusable: { readonly podUid: string; readonly bytes: Map<string, number> } | null;
  /** The content for the state file; kept as it was read until the state changes. null: to be computed again. */
  fileText: string | null;
}

export interface MemoryManagerConfig {
  readonly policy: string;
  readonly machine: readonly NumaMemory[];
  /** Reserved on the whole: for the system, for Kubernetes and by hard eviction thresholds. */
  readonly nodeReservation: ResourceList;
  readonly reservedMemory: readonly MemoryReservation[];
  readonly stateDirectory: string;
  /** null: no file. */
  readonly stateFile: string | null;
}

export type MemoryManagerStart = { readonly ok: true; readonly manager: MemoryManager } | { readonly ok: false; readonly error: string };

/** Checks the configuration against the machine, then takes over the state file. */
export function startMemoryManager(config: MemoryManagerConfig): MemoryManagerStart {
  const { policy } = config;
  if (policy === 'BestEffort') return { ok: false, error: 'policy "BestEffort" is not available for platform "linux"' };
  if (policy !== 'None' && policy !== 'Static') return { ok: false, error: `unknown policy: ${JSON.stringify(policy)}` };
  const reservation = policy === 'None' ? ({ ok: true, reserved: new Map() } as const) : reservedBytes(config.machine, parsedList(config.nodeReservation), config.reservedMemory);
  if (!reservation.ok) return reservation;
  const reservedInAll = [...reservation.reserved.values()].reduce((sum, ofNode) => sum + (ofNode.get('memory') ?? 0), 0);
  if (policy === 'Static' && reservedInAll <= 0) return { ok: false, error: '[memorymanager] you should specify the system reserved memory' };
  const loaded = config.stateFile === null ? newState() : loadState(config.stateFile, policy);
  if (typeof loaded === 'string') {
    const remedy = `please drain this node and delete the memory manager checkpoint file "${config.stateDirectory}/${memoryCheckpointName}" before restarting Kubelet`;
    return { ok: false, error: `could not restore state from checkpoint: ${loaded}, ${remedy}` };
  }
  const manager: MemoryManager = { policy, reusable: null, ...loaded };
  const problem = policy === 'None' ? null : adoptMachine(manager, config.machine, reservation.reserved);
  return problem === null ? { ok: true, manager } : { ok: false, error: problem };
}

type LoadedState = Pick<MemoryManager, 'machine' | 'assignments' | 'fileText'>;

function newState(): LoadedState {
  return { machine: new Map(), assignments: new Map(), fileText: null };
}

/** The reason as text when the file can't be used. */
function loadState(text: string, policy: string): LoadedState | string {
  const read = readMemoryCheckpoint(text);
  if (!read.ok) return read.error;
  const { policyName, machineState, entries }: MemoryCheckpoint = read.value;
  if (policyName !== policy) return `[memorymanager] configured policy ${JSON.stringify(policy)} differs from state checkpoint policy ${JSON.stringify(policyName)}`;
  const machine: MachineState = new Map();
  for (const [id, { numberOfAssignments, memoryMap, cells }] of machineState ?? []) {
    machine.set(Number(id), { numberOfAssignments, memoryMap: new Map([...(memoryMap ?? [])].map(([name, table]) => [name, { ...table }])), cells: cells ?? [] });
  }
  const assignments: MemoryManager['assignments'] = new Map();
  for (const [podUid, containers] of entries ?? []) {
    assignments.set(podUid, new Map([...containers].map(([name, blocks]) => [name, blocks.map((block) => ({ ...block, numaAffinity: block.numaAffinity ?? [] }))])));
  }
  return { machine, assignments, fileText: text };
}

/** Why the state doesn't fit the machine; null if it does, or if it was empty and now is the empty machine's. */
function adoptMachine(manager: MemoryManager, machine: readonly NumaMemory[], reserved: ReservedBytes): string | null {
  const expected = emptyMachineState(machine, reserved);
  if (manager.machine.size === 0) {
    if (manager.assignments.size > 0) return '[memorymanager] machine state can not be empty when it has memory assignments';
    manager.machine = expected;
    manager.fileText = null;
    return null;
  }
  for (const [podUid, containers] of manager.assignments) {
    for (const [name, blocks] of containers) {
      for (const block of blocks) {
        const lacking = lackingPart(expected, block);
        if (lacking !== null) return `[memorymanager] (pod: ${podUid}, container: ${name}) the memory assignment uses ${lacking} that does not exist`;
        chargeMemory(expected, block);
      }
    }
  }
  return sameMachineState(manager.machine, expected) ? null : '[memorymanager] the expected machine state is different from the real one';
}

function lackingPart(machine: MachineState, block: MemoryBlock): string | null {
  for (const id of block.numaAffinity) {
    const node = machine.get(id);
    if (node === undefined) return 'the NUMA';
    if (!node.memoryMap.has(block.type)) return 'memory resource';
  }
  return null;
}

/** The expected content of the state file. */
export function memoryStateFile(manager: MemoryManager): string {
  manager.fileText ??= writeMemoryCheckpoint({
    policyName: manager.policy,
    machineState: new Map([...manager.machine].map(([id, node]) => [String(id), node])),
    entries: manager.assignments,
  }).content;
  return manager.fileText;
}

/** The memory that containers may use, by type, then by node; types that a node doesn't have are left out. */
export function allocatableMemory(manager: View<MemoryManager>): MemoryBlock[] {
  const blocks = [...manager.machine].flatMap(([id, node]) => [...node.memoryMap].map(([type, { allocatable }]) => ({ numaAffinity: [id], type, size: allocatable })));
  return blocks.filter(({ size }) => size > 0).sort((a, b) => byCodeUnits(a.type, b.type) || a.numaAffinity[0]! - b.numaAffinity[0]!);
}

/** NUMA nodes for the container's cpuset.mems, ascending; empty: any. */
export function containerMemoryNodes(manager: View<MemoryManager>, podUid: string, containerName: string): readonly number[] {
  const blocks = manager.assignments.get(podUid)?.get(containerName) ?? [];
  return [...new Set(blocks.flatMap(({ numaAffinity }) => numaAffinity))].sort((a, b) => a - b);
}

/** Releases the memory of containers whose pods are no longer active. */
export function collectStaleMemory(manager: MemoryManager, active: ActivePods): void {
  if (!active.sourcesReady) return;
  for (const [podUid, containers] of [...manager.assignments]) {
    for (const name of [...containers.keys()]) if (!active.hasContainer(podUid, name)) releaseContainer(manager, podUid, name);
  }
}

/** A container is about to start, so every plain init container before it has ended: releases their memory. */
export function releaseFinishedInitContainers(manager: MemoryManager, pod: Pod, container: Container): void {
  for (const init of pod.spec.initContainers ?? []) {
    if (init.name === container.name) return;
    if (!isRestartableInit(init)) releaseContainer(manager, pod.metadata.uid ?? '', init.name);
  }
}

function releaseContainer(manager: MemoryManager, podUid: string, containerName: string): void {
  const containers = manager.assignments.get(podUid);
  const blocks = containers?.get(containerName);
  if (containers === undefined || blocks === undefined) return;
  containers.delete(containerName);
  if (containers.size === 0) manager.assignments.delete(podUid);
  for (const block of blocks) releaseMemory(manager.machine, block);
  // Released memory is no longer reusable by the pod, if it is admitted again.
  if (manager.reusable?.podUid === podUid) manager.reusable = null;
  manager.fileText = null;
}
