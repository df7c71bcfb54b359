// The settings of a node's resource managers (CPU, memory, topology), and the state that the agent keeps for them.
// Invariant: managers exist only for a consistent configuration, machine and state files; anything else is an error at start.
import type { Micros } from '../../../ports/micros.js';
import type { ResourceList } from '../../../ports/model/container.js';
import type { MachineTopology } from '../../../ports/outbound/machine.js';
import { type ContainerName, cpuCheckpointName } from '../../checkpoints/cpu-checkpoint.js';
import { memoryCheckpointName } from '../../checkpoints/memory-checkpoint.js';
import { isUnsaved, newStateFileWriter, type StateFileWriter } from '../../checkpoints/state-file-writer.js';
import { type CpuManager, startCpuManager } from '../../cpu-manager/cpu-manager.js';
import type { CpuOptionGates } from '../../cpu-manager/cpu-options.js';
import type { View } from '../../kernel/view.js';
import type { MemoryReservation } from '../../memory-manager/machine-memory.js';
import { type MemoryManager, startMemoryManager } from '../../memory-manager/memory-manager.js';
import { newTopologyManager, type TopologyManager } from '../../topology-manager/topology-manager.js';
import type { CpuSet } from '../../values/cpu-set.js';
import { parseQuantity } from '../../values/quantity.js';

export const stateFileMachine = 'state-file';

/** The configured policies. */
export interface AlignmentPolicies {
  readonly cpuManagerPolicy: string;
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  readonly cpuOptionGates: CpuOptionGates;
  /** The retry period for failed updates of CPU sets; changed sets are sent at once. */
  readonly cpuManagerReconcilePeriod: Micros;
  /** Containers with CPUs of their own have no CPU quota (`DisableCPUQuotaWithExclusiveCPUs`). */
  readonly liftsQuota: boolean;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  readonly topologyManagerScope: string;
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
  /** CPUs that are the system's, by number; empty: the CPU manager chooses. */
  readonly reservedSystemCpus: CpuSet;
  /** Kept from pods on the whole: for the system, for Kubernetes and by hard eviction thresholds. */
  readonly reservation: ResourceList;
  readonly reservedMemory: readonly MemoryReservation[];
}

export interface AlignmentSettings extends AlignmentPolicies {
  readonly machine: MachineTopology;
  /** The directory of the state files; for messages. */
  readonly stateDirectory: string;
  /** The files' contents; null if absent. */
  readonly stateFiles: { readonly cpu: string | null; readonly memory: string | null };
  /** Container id -> whose it is, as the runtime knows; needed for state files of kubelets before 1.18 alone. */
  readonly containers: ReadonlyMap<string, ContainerName>;
}

export const noAlignmentPolicies: AlignmentPolicies = {
  cpuManagerPolicy: 'none',
  cpuManagerPolicyOptions: {},
  cpuOptionGates: { alpha: false, beta: true },
  cpuManagerReconcilePeriod: 10_000_000,
  liftsQuota: true,
  memoryManagerPolicy: 'None',
  topologyManagerPolicy: 'none',
  topologyManagerScope: 'container',
  topologyManagerPolicyOptions: {},
  reservedSystemCpus: [],
  reservation: {},
  reservedMemory: [],
};

export interface AlignmentCounters {
  admissions: number;
  admissionErrors: number;
  cpuPinnings: number;
  cpuPinningErrors: number;
  memoryPinnings: number;
  memoryPinningErrors: number;
  /** Allocations with the alignment that a policy guarantees, and those that it made impossible, by `<container|pod> <boundary>`. */
  readonly aligned: Map<AlignedAt, number>;
  readonly unaligned: Map<AlignedAt, number>;
}

export type AlignedAt = `${'container' | 'pod'} ${'numa_node' | 'physical_cpu' | 'uncore_cache'}`;

/** One CPU set update of a container in the runtime. */
export interface CpuUpdate {
  readonly podUid: string;
  readonly containerName: string;
  readonly cpus: CpuSet;
  /** Another container has taken its place meanwhile. */
  replaced: boolean;
}

export interface CpuReconcile {
  /** The shared pool as of the last pass; by identity. */
  pool: CpuSet | null;
  dirty: boolean;
  /** When the last pass ended with something left to do; null: it did all. */
  retryAt: Micros | null;
  lastAt: Micros;
  /** Updates in progress, by container id. */
  readonly updating: Map<string, CpuUpdate>;
  /** Those that wait for their turn, by id. */
  readonly waiting: Map<string, CpuUpdate>;
  failed: boolean;
}

export interface AlignmentState {
  readonly cpu: CpuManager;
  readonly memory: MemoryManager;
  readonly topology: TopologyManager;
  /** By their texts. */
  readonly cpuFile: StateFileWriter<string>;
  readonly memoryFile: StateFileWriter<string>;
  /** Pods whose runs wait for a state file. */
  readonly waiting: Set<string>;
  readonly reconcile: CpuReconcile;
  readonly counters: AlignmentCounters;
}

export type AlignmentStart = { readonly ok: true; readonly state: AlignmentState } | { readonly ok: false; readonly error: string };

/** The error that ends the process, without the common prefix. */
export function startAlignment(settings: AlignmentSettings): AlignmentStart {
  const { machine, stateDirectory, stateFiles, reservation } = settings;
  const topology = newTopologyManager({
    policy: settings.topologyManagerPolicy,
    scope: settings.topologyManagerScope,
    policyOptions: settings.topologyManagerPolicyOptions,
    numaNodes: machine.numaNodes,
  });
  if (!topology.ok) return { ok: false, error: `failed to initialize topology manager: ${topology.error}` };
  const reservedCpu = parseQuantity(reservation.cpu ?? '');
  const cpu = startCpuManager({
    policy: settings.cpuManagerPolicy,
    policyOptions: settings.cpuManagerPolicyOptions,
    gates: settings.cpuOptionGates,
    topologyManagerPolicy: settings.topologyManagerPolicy,
    cores: machine.cores,
    cpuReservation: reservedCpu.ok ? reservedCpu.quantity : null,
    reservedCpus: settings.reservedSystemCpus,
    stateDirectory,
    stateFile: stateFiles.cpu,
    containers: settings.containers,
  });
  if (!cpu.ok) return { ok: false, error: `start cpu manager error: ${cpu.error}` };
  const memory = startMemoryManager({
    policy: settings.memoryManagerPolicy,
    machine: machine.numaNodes,
    nodeReservation: reservation.memory === undefined ? {} : { memory: reservation.memory },
    reservedMemory: settings.reservedMemory,
    stateDirectory,
    stateFile: stateFiles.memory,
  });
  if (!memory.ok) return { ok: false, error: `start memory manager error: ${memory.error}` };
  return {
    ok: true,
    state: {
      cpu: cpu.manager,
      memory: memory.manager,
      topology: topology.manager,
      cpuFile: newFile(cpuCheckpointName, stateFiles.cpu),
      memoryFile: newFile(memoryCheckpointName, stateFiles.memory),
      waiting: new Set(),
      reconcile: { pool: null, dirty: false, retryAt: null, lastAt: 0, updating: new Map(), waiting: new Map(), failed: false },
      counters: { admissions: 0, admissionErrors: 0, cpuPinnings: 0, cpuPinningErrors: 0, memoryPinnings: 0, memoryPinningErrors: 0, ...newAlignedCounts(cpu.manager) },
    },
  };
}

/** With the static policy, the series of the CPU manager exist from the start. */
function newAlignedCounts({ policy }: CpuManager): Pick<AlignmentCounters, 'aligned' | 'unaligned'> {
  if (policy === null) return { aligned: new Map(), unaligned: new Map() };
  return {
    aligned: new Map([
      ['container physical_cpu', 0],
      ['container uncore_cache', 0],
    ]),
    unaligned: new Map([['container physical_cpu', 0]]),
  };
}

/** Written before a container with such an allocation is created. */
function newFile(name: string, text: string | null): StateFileWriter<string> {
  return newStateFileWriter(name, { machine: stateFileMachine, key: name }, text, { isRequired: true });
}

/** Null: no allocation of the pod waits to be written. */
export function unsavedProblem({ cpuFile, memoryFile }: View<AlignmentState>, uid: string): { readonly message: string | null } | null {
  const files = [cpuFile, memoryFile].filter((file) => isUnsaved(file, uid));
  if (files.length === 0) return null;
  return { message: files.find(({ problem, writing }) => problem !== null && writing === null)?.problem ?? null };
}
