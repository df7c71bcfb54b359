// Starts of the memory manager, and its life: admissions, started containers, removals, restarts.
import { memoryContainerHints, memoryHintProvider, memoryPodHints } from '../../../src/domain/memory-manager/allocate-memory.js';
import type { MemoryBlock, MemoryReservation } from '../../../src/domain/memory-manager/machine-memory.js';
import {
  allocatableMemory,
  collectStaleMemory,
  containerMemoryNodes,
  type MemoryManager,
  type MemoryManagerConfig,
  memoryStateFile,
  releaseFinishedInitContainers,
  startMemoryManager,
} from '../../../src/domain/memory-manager/memory-manager.js';
import type { ProviderHints } from '../../../src/domain/topology-manager/topology-hint.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import { AlignmentWorld, type TopologyInput } from '../alignment-world.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface Step {
  readonly op: string;
  readonly pod?: Pod;
  readonly uid?: string;
  readonly container?: string;
}
interface Input extends TopologyInput {
  readonly kind: 'start' | 'sequence';
  readonly numaNodes: readonly { readonly id: number; readonly memoryBytes: number; readonly hugepages?: readonly { readonly pageSizeKiB: number; readonly numPages: number }[] }[];
  readonly policy: string;
  readonly nodeReservation?: Readonly<Record<string, string>>;
  readonly reservedMemory?: readonly MemoryReservation[];
  readonly stateFile?: string;
  readonly steps?: readonly Step[];
}

function configOf(input: Input, stateFile: string | null): MemoryManagerConfig {
  return {
    policy: input.policy,
    machine: input.numaNodes.map(({ id, memoryBytes, hugepages = [] }) => ({ id, memoryBytes, hugePages: hugepages })),
    nodeReservation: input.nodeReservation ?? {},
    reservedMemory: input.reservedMemory ?? [],
    stateDirectory: '<dir>',
    stateFile,
  };
}

const shown = (blocks: readonly MemoryBlock[]) => blocks.map(({ numaAffinity, type, size }) => ({ numaNodes: numaAffinity, type, sizeBytes: size }));

function stateOf(manager: MemoryManager) {
  const nodes = [...manager.machine].map(([id, { numberOfAssignments, cells, memoryMap }]) => {
    const tables = Object.fromEntries([...memoryMap].map(([name, { free, reserved }]) => [name, { free, reserved }]));
    return [id, { assignmentCount: numberOfAssignments, cells, ...tables }];
  });
  const assignments = [...manager.assignments].map(([uid, containers]) => [uid, Object.fromEntries([...containers].map(([name, blocks]) => [name, shown(blocks)]))]);
  return { nodes: Object.fromEntries(nodes), assignments: Object.fromEntries(assignments) };
}

const hintObject = (hints: ProviderHints | null) => (hints === null ? null : Object.fromEntries(hints));

function run(world: AlignmentWorld, manager: MemoryManager, step: Step): object {
  const admit = (pod: Pod): object => {
    const uid = pod.metadata.uid!;
    world.pods.set(uid, pod);
    const result = world.decide(pod, [memoryHintProvider(manager, world.active())]);
    if (!result.admit) world.pods.delete(uid);
    return result;
  };
  const pod = step.pod ?? world.pods.get(step.uid ?? '');
  switch (step.op) {
    case 'admitPod':
    case 'readmitPod':
      return pod === undefined ? {} : admit(pod);
    case 'removePod':
      world.pods.delete(step.uid!);
      return {};
    case 'collectStale':
      collectStaleMemory(manager, world.active());
      return {};
    case 'sourcesReady':
      world.sourcesReady = true;
      return {};
    case 'startContainer': {
      const container = [...(pod?.spec.initContainers ?? []), ...(pod?.spec.containers ?? [])].find(({ name }) => name === step.container);
      if (pod === undefined || container === undefined) return {};
      const cpusetMems = containerMemoryNodes(manager, pod.metadata.uid!, container.name).join(',');
      releaseFinishedInitContainers(manager, pod, container);
      return { cpusetMems };
    }
    case 'hints': {
      if (pod === undefined) throw new Error('hints need a pod');
      collectStaleMemory(manager, world.active(pod));
      const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
      const containerHints = Object.fromEntries(containers.map((container) => [container.name, hintObject(memoryContainerHints(manager, pod, container))]));
      return { containerHints, podHints: hintObject(memoryPodHints(manager, pod)) };
    }
    default:
      throw new Error(`unknown step ${step.op}`);
  }
}

/** Hint lists have no fixed order: sorts them by nodes, at any depth. */
function sortedHints(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(sortedHints);
    const isHint = (item: unknown): boolean => isObject(item) && 'preferred' in item;
    return items.every(isHint) ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : items;
  }
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, sortedHints(member)])) : value;
}

export const driver: VectorDriver = {
  run(input: Input) {
    const start = startMemoryManager(configOf(input, input.stateFile ?? null));
    if (!start.ok) return { error: start.error };
    let { manager } = start;
    if (input.kind === 'start') return { ...stateOf(manager), allocatable: shown(allocatableMemory(manager)), stateFile: memoryStateFile(manager) };
    const world = new AlignmentWorld(
      input,
      input.numaNodes.map(({ id }) => id),
    );
    const steps = (input.steps ?? []).map((step) => {
      if (step.op === 'restart') {
        const again = startMemoryManager(configOf(input, memoryStateFile(manager)));
        if (!again.ok) return { error: again.error };
        manager = again.manager;
        world.restart();
        return stateOf(manager);
      }
      const result = run(world, manager, step);
      return step.op === 'hints' ? result : { ...result, ...stateOf(manager) };
    });
    return { steps, stateFile: memoryStateFile(manager) };
  },
  compare(got: Record<string, unknown>, want: Json): Difference[] {
    const { stateFile: _, ...rest } = got;
    // The file is compared where the case has it: with huge pages its order isn't fixed.
    const compared = isObject(want) && 'stateFile' in want ? got : rest;
    return differences(sortedHints(compared), sortedHints(want));
  },
};
