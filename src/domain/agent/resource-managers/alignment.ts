// The resource managers as a part of the agent: what a new pod is allocated, what its containers are pinned to, and when
// an allocation is released.
//
// Invariant: a container keeps its exclusive resources while it may run: as long as its pod is active, its worker isn't done with it,
// or the runtime has it running, even without its API object. Nothing is released before every pod source has reported.
import type { Container } from '../../../ports/model/container.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { LinuxContainerResources } from '../../../ports/model/sandbox-config.js';
import { type Admission, admitted, rejected } from '../../admission/admission-result.js';
import { cpuHintProvider } from '../../cpu-manager/cpu-hint-provider.js';
import { collectStaleCpus, containerCpus, hasExclusiveCpus, keepsCpus } from '../../cpu-manager/cpu-manager.js';
import { groupsOf } from '../../cpu-manager/cpu-topology.js';
import { gaveCpusBack, releaseFinishedInitCpus, shareInitCpus } from '../../cpu-manager/init-cpus.js';
import { noteCpuUpdate } from '../../cpu-manager/reconcile-cpus.js';
import { exclusiveCpuCount } from '../../cpu-manager/static-policy.js';
import { assert } from '../../kernel/assert.js';
import { memoryHintProvider } from '../../memory-manager/allocate-memory.js';
import { collectStaleMemory, containerMemoryNodes, releaseFinishedInitContainers } from '../../memory-manager/memory-manager.js';
import { readPodCache } from '../../pod-cache/pod-cache.js';
import { areAllSourcesReady } from '../../pod-sources/pod-config.js';
import type { Pinning, PinningOfPods } from '../../pod-sync/sync-context.js';
import { isRestartableInit } from '../../status/restart-rules.js';
import { type ActivePods, activePodsBy } from '../../topology-manager/active-pods.js';
import { beginAdmission, continueAdmission, type HintProvider, type TopologyAdmission, type TopologyAnswer, topologyAffinityError } from '../../topology-manager/pod-admission.js';
import { forgetHints } from '../../topology-manager/topology-manager.js';
import { type CpuSet, equalCpuSets, formatCpuSet } from '../../values/cpu-set.js';
import type { AgentView } from '../agent-view.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { isActive } from '../pod-workers/active-pods.js';
import { isAside } from '../set-aside/aside-pods.js';
import { type AlignedAt, type AlignmentState, unsavedProblem } from './alignment-state.js';
import { resourceManagersState } from './slice.js';

/** Allocates a new pod's resources, container by container. Keeps earlier allocations. */
export function alignPod(view: AgentView, pod: Pod): Admission {
  const state = resourceManagersState(view);
  const { alignment } = state;
  if (alignment === null) return admitted;
  const { counters, cpu, memory, cpuFile, memoryFile } = alignment;
  const active = managedPods(state);
  const providers = [counted(alignment, pod, cpuHintProvider(cpu, active)), counted(alignment, pod, memoryHintProvider(memory, active))];
  const before = { cpu: cpu.fileText, memory: memory.fileText };
  counters.admissions++;
  const admission = beginAdmission(pod);
  const answer = continueAdmission(alignment.topology, admission, pod, providers);
  countNumaAlignment(alignment, admission, answer);
  assert(answer.kind !== 'waiting', 'a manager waits that has nothing to wait for');
  if (answer.kind === 'admitted' && !hasContainers(state, uidOf(pod))) shareInitCpus(cpu, pod);
  if (cpu.fileText !== before.cpu) cpuFile.unsaved.add(uidOf(pod));
  if (memory.fileText !== before.memory) memoryFile.unsaved.add(uidOf(pod));
  if (answer.kind === 'admitted') return admitted;
  counters.admissionErrors++;
  return rejected(answer.reason, answer.message);
}

function hasContainers({ pleg }: AgentView, uid: string): boolean {
  return (pleg.records.get(uid)?.listed?.containers.length ?? 0) > 0;
}

/** Counts the providers' allocations and their failures. */
function counted(alignment: AlignmentState, pod: Pod, provider: HintProvider): HintProvider {
  const { counters, cpu, memory } = alignment;
  const counts = (container: Container): boolean => (provider.name === 'cpu' ? cpu.policy !== null && exclusiveCpuCount(pod, container) > 0 : memory.policy !== 'None');
  const [requests, errors] = provider.name === 'cpu' ? (['cpuPinnings', 'cpuPinningErrors'] as const) : (['memoryPinnings', 'memoryPinningErrors'] as const);
  const isOver = (container: Container): boolean => (provider.name === 'memory' ? gaveMemoryBack(alignment, pod, container) : gaveCpusBack(cpu, pod, container));
  const remaining = (of: Pod): Pod => {
    const { initContainers } = of.spec;
    return initContainers?.some(isOver) === true ? { ...of, spec: { ...of.spec, initContainers: initContainers.filter((init) => !isOver(init)) } } : of;
  };
  return {
    name: provider.name,
    containerHints: (of, container) => (isOver(container) ? null : provider.containerHints(of, container)),
    podHints: (of) => provider.podHints(remaining(of)),
    allocate: (of, container, hint) => {
      // A pod on the node's last whole cores is admitted again after a restart: its CPUs are not requested again.
      if (isOver(container) || (provider.name === 'cpu' && keepsCpus(cpu, of, container))) return { kind: 'allocated' };
      const allocation = provider.allocate(of, container, hint);
      if (counts(container)) counters[requests]++;
      if (allocation.kind === 'failed') counters[errors]++;
      if (provider.name === 'cpu' && counts(container)) countCpuAlignment(alignment, uidOf(of), container.name, allocation.kind === 'allocated');
      return allocation;
    },
  };
}

/** Only the policy single-numa-node guarantees an alignment. In the scope container each container counts, in the scope pod the pod. */
function countNumaAlignment({ topology, counters: { aligned, unaligned } }: AlignmentState, { container }: TopologyAdmission, answer: TopologyAnswer): void {
  if (topology.policy !== 'single-numa-node' || topology.scope === 'none') return;
  const at = `${topology.scope} numa_node` as const;
  if (answer.kind === 'refused' && answer.reason === topologyAffinityError.reason) increase(unaligned, at, 1);
  if (topology.scope === 'container') increase(aligned, at, container);
  else if (answer.kind === 'admitted') increase(aligned, at, 1);
}

function countCpuAlignment({ cpu: { policy, assignments }, counters: { aligned, unaligned } }: AlignmentState, uid: string, name: string, isAllocated: boolean): void {
  if (policy === null) return;
  if (policy.options.fullPcpusOnly) increase(isAllocated ? aligned : unaligned, 'container physical_cpu', 1);
  const cpus = assignments.get(uid)?.get(name) ?? [];
  if (isAllocated && groupsOf(policy.topology, 'uncoreCache', cpus).length <= 1) increase(aligned, 'container uncore_cache', 1);
}

function increase(counts: Map<AlignedAt, number>, at: AlignedAt, by: number): void {
  if (by > 0) counts.set(at, (counts.get(at) ?? 0) + by);
}

/**
 * A plain init container without memory in a pod with some: it has run before, and released its memory when a later container started. A
 * pod that is admitted again after a restart of the agent needs no more for it.
 */
function gaveMemoryBack({ memory }: AlignmentState, pod: Pod, container: Container): boolean {
  const recorded = memory.assignments.get(uidOf(pod));
  if (recorded === undefined || recorded.has(container.name)) return false;
  const { initContainers = [], containers } = pod.spec;
  const at = initContainers.findIndex((init) => init.name === container.name && !isRestartableInit(init));
  return at >= 0 && [...initContainers.slice(at + 1), ...containers].some(({ name }) => recorded.has(name));
}

/** Pods whose containers may run, and that under admission. */
function managedPods(state: AgentView): ActivePods {
  const { pods, workers, pleg } = state;
  const active = activePodsBy((uid) => {
    const pod = pods.pods.get(uid);
    if (pod !== undefined && isActive(state, pod)) return pod;
    // Its object may be deleted, or refused by now: it keeps its containers' resources until they are dead.
    const record = workers.records.get(uid);
    return record === undefined || record.terminatedAt !== null ? undefined : ((record.active ?? record.run?.update ?? record.pending)?.pod ?? undefined);
  }, areAllSourcesReady(state.config));
  const runs = (uid: string): boolean => isAside(state, uid) || pleg.records.get(uid)?.listed?.containers.some((container) => container.state === 'running') === true;
  return {
    sourcesReady: active.sourcesReady,
    hasPod: (uid) => active.hasPod(uid) || runs(uid),
    hasContainer: (uid, name) => active.hasContainer(uid, name) || runs(uid),
  };
}

/** Releases allocations without an owner. */
export function collectStale(view: AgentView): void {
  const state = resourceManagersState(view);
  const { alignment } = state;
  if (alignment === null) return;
  const active = managedPods(state);
  collectStaleCpus(alignment.cpu, active);
  collectStaleMemory(alignment.memory, active);
  for (const uid of new Set([...alignment.cpu.assignments.keys(), ...alignment.memory.assignments.keys()])) releaseFinished(state, alignment, uid);
  if (!active.sourcesReady) return;
  for (const uid of [...alignment.topology.hints.keys()]) if (!active.hasPod(uid)) forgetHints(alignment.topology, uid);
}

/** The previous agent may have ended before it released the resources of ended init containers. */
function releaseFinished({ pods, cache }: AgentView, { cpu, memory }: AlignmentState, uid: string): void {
  const pod = pods.pods.get(uid);
  const seen = readPodCache(cache, uid);
  if (pod === undefined || seen.kind !== 'status') return;
  const { sandboxes, containers: instances } = seen.status;
  const made = new Set(instances.filter(({ sandboxId }) => sandboxId === sandboxes[0]?.id).map(({ name }) => name));
  const { initContainers = [], containers } = pod.spec;
  // The last created one shows the pod's progress.
  const last = containers.find(({ name }) => made.has(name)) ?? initContainers.findLast(({ name }) => made.has(name));
  if (last === undefined) return;
  releaseFinishedInitCpus(cpu, pod, last);
  releaseFinishedInitContainers(memory, pod, last);
}

/** The resource managers' interface to the runs of pods. */
export function pinningOfPods(view: AgentView): PinningOfPods {
  const state = resourceManagersState(view);
  const { alignment } = state;
  if (alignment === null) return noPinning;
  const { cpu, memory } = alignment;
  const lifts = (uid: string): boolean => state.settings.alignment?.liftsQuota === true && hasExclusiveCpus(cpu, uid);
  return {
    liftsPodQuota: lifts,
    ofContainer(uid, name): Pinning {
      const own = cpu.assignments.get(uid)?.has(name) === true;
      const nodes = containerMemoryNodes(memory, uid, name);
      const unsaved = own || nodes.length > 0 ? unsavedProblem(alignment, uid) : null;
      if (unsaved?.message === null) {
        alignment.waiting.add(uid);
        return { kind: 'waiting' };
      }
      if (unsaved !== null) return { kind: 'failed', message: `Internal PreCreateContainer hook failed: could not save the state of the resource managers: ${unsaved.message}` };
      const cpus = containerCpus(cpu, uid, name);
      return { kind: 'known', cpus, resources: resourcesOf(cpus, nodes), liftsQuota: own && lifts(uid) };
    },
    created(pod, container, cpus) {
      const uid = uidOf(pod);
      if (cpus.length > 0) noteCpuUpdate(cpu, uid, container.name, cpus);
      const { reconcile } = alignment;
      for (const update of [...reconcile.updating.values(), ...reconcile.waiting.values()])
        if (update.podUid === uid && update.containerName === container.name) update.replaced = true;
      // Meanwhile others may have got exclusive CPUs.
      if (!equalCpuSets(cpus, containerCpus(cpu, uid, container.name))) reconcile.dirty = true;
      releaseFinishedInitCpus(cpu, pod, container);
      releaseFinishedInitContainers(memory, pod, container);
    },
  };
}

function resourcesOf(cpus: CpuSet, nodes: readonly number[]): Pick<LinuxContainerResources, 'cpusetCpus' | 'cpusetMems'> {
  return { ...(cpus.length === 0 ? {} : { cpusetCpus: formatCpuSet(cpus) }), ...(nodes.length === 0 ? {} : { cpusetMems: nodes.join(',') }) };
}

const noPinning: PinningOfPods = {
  liftsPodQuota: () => false,
  ofContainer: () => ({ kind: 'known', cpus: [], resources: {}, liftsQuota: false }),
  created: () => {},
};
