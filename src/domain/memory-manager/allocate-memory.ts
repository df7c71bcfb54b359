// The NUMA nodes of a container's memory: the topology manager's choice, extended if it has none or its nodes
// don't have enough; and the memory that finished init containers leave to later ones.
// Invariants: a block is reserved only on nodes that have the memory; the blocks of a pod sum up to its reserved memory, so when
// a later container reuses an init container's memory, the init container's recorded block shrinks.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { hasPodLevel, parsedList } from '../qos/pod-resources.js';
import { podQosClass } from '../qos/qos-class.js';
import { isRestartableInit } from '../status/restart-rules.js';
import type { ActivePods } from '../topology-manager/active-pods.js';
import type { Allocation, HintProvider } from '../topology-manager/pod-admission.js';
import type { ProviderHints, TopologyHint } from '../topology-manager/topology-hint.js';
import { exactInt64 } from '../values/quantity.js';
import { byCodeUnits } from '../values/text-order.js';
import { chargeMemory, isMemoryResource, type MemoryBlock, sameNodes, sumOver } from './machine-memory.js';
import { bestMemoryHint, breaksGroups, isPartOfGroup, type MemoryHint, type MemoryRequest, memoryHints } from './memory-hints.js';
import { collectStaleMemory, type MemoryManager } from './memory-manager.js';

/** User-visible: each is the text of an admission error. */
const errors = {
  notAnInteger: '[memorymanager] failed to represent quantity as int64',
  noDefault: '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available',
  noPreferredDefault: '[memorymanager] failed to find the default preferred hint',
  noExtension: '[memorymanager] failed to find NUMA nodes to extend the current topology hint',
  noPreferredExtension: '[memorymanager] failed to find the extended preferred hint',
  violation: '[memorymanager] preferred hint violates NUMA node allocation',
} as const;

/** The memory manager as the topology manager sees it: stale state is collected before anything is answered. */
export function memoryHintProvider(manager: MemoryManager, active: ActivePods): HintProvider {
  return {
    name: 'memory',
    containerHints: (pod, container) => {
      collectStaleMemory(manager, active);
      return memoryContainerHints(manager, pod, container);
    },
    podHints: (pod) => {
      collectStaleMemory(manager, active);
      return memoryPodHints(manager, pod);
    },
    allocate: (pod, container, hint) => {
      collectStaleMemory(manager, active);
      return allocateContainerMemory(manager, pod, container, hint);
    },
  };
}

/** Pods with resources of their own are never pinned, nor are those that are not Guaranteed. */
function isPinned(manager: MemoryManager, pod: Pod): boolean {
  return manager.policy === 'Static' && podQosClass(pod) === 'Guaranteed' && !hasPodLevel(pod, 'requests') && !hasPodLevel(pod, 'limits');
}

/** null: some amount is no whole number of bytes. */
function containerRequest(container: Container): MemoryRequest | null {
  const request = new Map<string, number>();
  const amounts = parsedList(container.resources?.requests);
  for (const name of [...amounts.keys()].filter(isMemoryResource).sort(byCodeUnits)) {
    const bytes = exactInt64(amounts.get(name)!);
    if (bytes === null) return null;
    request.set(name, Number(bytes));
  }
  return request;
}

/** Init containers one after the other beside the sidecars before them, against everything that runs together. Kinds that only sidecars request don't count. */
function podRequest(pod: Pod): MemoryRequest | null {
  const initPeak = new Map<string, number>();
  const sidecars = new Map<string, number>();
  const apps = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, bytes: number): unknown => to.set(name, (to.get(name) ?? 0) + bytes);
  for (const container of pod.spec.initContainers ?? []) {
    const request = containerRequest(container);
    if (request === null) return null;
    for (const [name, bytes] of request) {
      if (isRestartableInit(container)) add(sidecars, name, bytes);
      else initPeak.set(name, Math.max(initPeak.get(name) ?? 0, (sidecars.get(name) ?? 0) + bytes));
    }
  }
  for (const container of pod.spec.containers) {
    const request = containerRequest(container);
    if (request === null) return null;
    for (const [name, bytes] of request) add(apps, name, bytes);
  }
  return new Map([...apps].map(([name, bytes]) => [name, Math.max(bytes + (sidecars.get(name) ?? 0), initPeak.get(name) ?? 0)]));
}

/** null: no preference. */
export function memoryContainerHints(manager: MemoryManager, pod: Pod, container: Container): ProviderHints | null {
  const request = isPinned(manager, pod) ? containerRequest(container) : null;
  if (request === null) return null;
  const blocks = manager.assignments.get(pod.metadata.uid ?? '')?.get(container.name);
  return blocks === undefined ? freshHints(manager, pod, request) : recordedHints(blocks, request);
}

export function memoryPodHints(manager: MemoryManager, pod: Pod): ProviderHints | null {
  const request = isPinned(manager, pod) ? podRequest(pod) : null;
  if (request === null) return null;
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const recorded = containers.map(({ name }) => manager.assignments.get(pod.metadata.uid ?? '')?.get(name)).find((blocks) => blocks !== undefined);
  return recorded === undefined ? freshHints(manager, pod, request) : recordedHints(recorded, request);
}

/** If nothing fits there is no preference: the pod then fails at the allocation. */
function freshHints(manager: MemoryManager, pod: Pod, request: MemoryRequest): ProviderHints | null {
  const hints = memoryHints(manager.machine, request, reusableOf(manager, pod));
  return hints.length === 0 ? null : new Map([...request.keys()].map((type) => [type, hints]));
}

/** Hints for the container's existing memory; null if its request differs. */
function recordedHints(blocks: readonly MemoryBlock[], request: MemoryRequest): ProviderHints | null {
  if (blocks.length !== request.size || blocks.some(({ type, size }) => request.get(type) !== size)) return null;
  return new Map(blocks.map(({ type, numaAffinity }) => [type, [{ numaNodes: numaAffinity, preferred: true }]]));
}

/** Allocates the container's blocks; keeps existing ones. */
export function allocateContainerMemory(manager: MemoryManager, pod: Pod, container: Container, hint: TopologyHint): Allocation {
  if (!isPinned(manager, pod)) return { kind: 'allocated' };
  const podUid = pod.metadata.uid ?? '';
  const recorded = manager.assignments.get(podUid)?.get(container.name);
  if (recorded !== undefined) {
    noteReuse(manager, pod, container, recorded);
    return { kind: 'allocated' };
  }
  const request = containerRequest(container);
  if (request === null) return failed(errors.notAnInteger);
  const nodes = chooseNodes(manager, pod, request, hint);
  if (typeof nodes === 'string') return failed(nodes);
  const reusable = reusableOf(manager, pod);
  const blocks = [...request].map(([type, size]): MemoryBlock => ({ numaAffinity: nodes, type, size }));
  for (const block of blocks) chargeMemory(manager.machine, { ...block, size: Math.max(0, block.size - reusable(nodes, block.type)) });
  noteReuse(manager, pod, container, blocks);
  if (blocks.length > 0) {
    const ofPod = manager.assignments.get(podUid) ?? new Map<string, readonly MemoryBlock[]>();
    manager.assignments.set(podUid, ofPod.set(container.name, blocks));
  }
  takeOverFromInitContainers(manager, pod, container, blocks);
  manager.fileText = null;
  return { kind: 'allocated' };
}

function failed(message: string): Allocation {
  return { kind: 'failed', message, reason: null };
}

/** The nodes, or the error. */
function chooseNodes(manager: MemoryManager, pod: Pod, request: MemoryRequest, hint: TopologyHint): readonly number[] | string {
  const { machine } = manager;
  const own = (): readonly MemoryHint[] => memoryHints(machine, request, reusableOf(manager, pod));
  let best = hint;
  if (best.numaNodes === null) {
    const fallback = bestMemoryHint(own());
    if (fallback === null) return errors.noDefault;
    if (!fallback.preferred && best.preferred) return errors.noPreferredDefault;
    best = fallback;
  }
  let nodes = best.numaNodes ?? [];
  const lacksMemory = [...request].some(([type, bytes]) => sumOver(machine, nodes, type, 'free') < bytes);
  // Other resources may have narrowed the choice to one node of a group: the container joins the group.
  if (lacksMemory || isPartOfGroup(machine, nodes)) {
    const extended = bestMemoryHint(own().filter(({ numaNodes }) => nodes.every((id) => numaNodes.includes(id))));
    if (extended === null) return errors.noExtension;
    if (!extended.preferred && best.preferred) return errors.noPreferredExtension;
    nodes = extended.numaNodes;
  }
  return breaksGroups(machine, nodes) ? errors.violation : nodes;
}

function reuseKey(nodes: readonly number[], type: string): string {
  return `${nodes.join(',')} ${type}`;
}

function reusableOf(manager: MemoryManager, pod: Pod): (nodes: readonly number[], type: string) => number {
  const bytes = manager.reusable?.podUid === (pod.metadata.uid ?? '') ? manager.reusable.bytes : null;
  return (nodes, type) => bytes?.get(reuseKey(nodes, type)) ?? 0;
}

/** The largest plain init container's memory is reusable by later containers, until one that keeps running takes it. */
function noteReuse(manager: MemoryManager, pod: Pod, container: Container, blocks: readonly MemoryBlock[]): void {
  const podUid = pod.metadata.uid ?? '';
  if (manager.reusable?.podUid !== podUid) manager.reusable = { podUid, bytes: new Map() };
  const { bytes } = manager.reusable;
  const leaves = (pod.spec.initContainers ?? []).some((init) => init.name === container.name && !isRestartableInit(init));
  for (const { numaAffinity, type, size } of blocks) {
    const key = reuseKey(numaAffinity, type);
    const before = bytes.get(key) ?? 0;
    bytes.set(key, leaves ? Math.max(before, size) : Math.max(0, before - size));
  }
}

/** Subtracts reused memory from the recorded blocks of earlier plain init containers. */
function takeOverFromInitContainers(manager: MemoryManager, pod: Pod, container: Container, blocks: readonly MemoryBlock[]): void {
  const ofPod = manager.assignments.get(pod.metadata.uid ?? '');
  for (const block of blocks) {
    let rest = block.size;
    for (const init of pod.spec.initContainers ?? []) {
      if (init.name === container.name || rest === 0) break;
      const recorded = isRestartableInit(init) ? undefined : ofPod?.get(init.name);
      if (recorded === undefined) continue;
      const shrunk = recorded.map((candidate) => {
        if (candidate.type !== block.type || !sameNodes(candidate.numaAffinity, block.numaAffinity)) return candidate;
        const taken = Math.min(candidate.size, rest);
        rest -= taken;
        return { ...candidate, size: candidate.size - taken };
      });
      ofPod?.set(init.name, shrunk);
    }
  }
}
