// CPUs of init containers that run to completion. They end before the containers after them start, so these may have the same CPUs.
//
//   a pod is admitted        -> such an init container uses the CPUs of the containers after it, and gets more of its own only if it needs more
//   a later container starts -> its CPUs beyond those return to the shared pool
//   it runs again (another sandbox) -> on the same CPUs, or, if it needs more than its pod has, in the shared pool
//
// Invariant: afterwards each CPU of the pod belongs to a container that may still run.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { type CpuSet, cpuSetDifference, cpuSetIntersection, cpuSetOf, cpuSetUnion, equalCpuSets } from '../values/cpu-set.js';
import type { CpuManager } from './cpu-manager.js';
import { exclusiveCpuCount, type StaticPolicy } from './static-policy.js';
import { takeByTopology } from './take-cpus.js';

/** After the pod's admission and before any of its containers was made: its init containers take as little of the node as they can. */
export function shareInitCpus(manager: CpuManager, pod: Pod): void {
  const { policy } = manager;
  const ofPod = manager.assignments.get(pod.metadata.uid ?? '');
  if (policy === null || ofPod === undefined) return;
  // From the last one on: each may use the final CPUs of those after it.
  for (const init of endingInits(pod).toReversed()) {
    const own = ofPod.get(init.name);
    if (own === undefined) continue;
    const shared = sharedWith(policy, own, cpusOfLater(ofPod, pod, init), exclusiveCpuCount(pod, init));
    if (shared !== null && !equalCpuSets(shared, own)) replace(manager, ofPod, init.name, shared);
  }
}

/** null: it keeps its CPUs. */
function sharedWith({ topology, options }: StaticPolicy, own: CpuSet, later: CpuSet, count: number): CpuSet | null {
  if (later.length >= count) {
    const take = takeByTopology(topology, options, later, count);
    return take.ok ? take.cpus : null;
  }
  const take = takeByTopology(topology, options, cpuSetDifference(own, later), count - later.length);
  return take.ok ? cpuSetUnion(later, take.cpus) : null;
}

/** The container is about to start, so each init container before it has ended. */
export function releaseFinishedInitCpus(manager: CpuManager, pod: Pod, container: Container): void {
  const ofPod = manager.assignments.get(pod.metadata.uid ?? '');
  if (ofPod === undefined) return;
  const { initContainers = [] } = pod.spec;
  const at = initContainers.findIndex(({ name }) => name === container.name);
  const over = endingInits({ ...pod, spec: { ...pod.spec, initContainers: at < 0 ? initContainers : initContainers.slice(0, at) } });
  // From the last one on: CPUs of only an ended container belong to none before it.
  for (const init of over.toReversed()) {
    const own = ofPod.get(init.name);
    if (own === undefined || cpuSetDifference(own, cpusOfLater(ofPod, pod, init)).length === 0) continue;
    replace(manager, ofPod, init.name, null);
    if (ofPod.size === 0) manager.assignments.delete(pod.metadata.uid ?? '');
  }
}

/** Whether the init container has ended and released its CPUs, while later ones have theirs: it needs none to be admitted again. */
export function gaveCpusBack(manager: CpuManager, pod: Pod, container: Container): boolean {
  const ofPod = manager.assignments.get(pod.metadata.uid ?? '');
  if (ofPod === undefined || ofPod.has(container.name) || !endingInits(pod).includes(container)) return false;
  return cpusOfLater(ofPod, pod, container).length > 0;
}

/** Those that run to their end, in their order. */
function endingInits({ spec }: Pod): readonly Container[] {
  return (spec.initContainers ?? []).filter((init) => !isRestartableInit(init));
}

function cpusOfLater(ofPod: ReadonlyMap<string, CpuSet>, { spec }: Pod, init: Container): CpuSet {
  const { initContainers = [], containers } = spec;
  const later = [...initContainers.slice(initContainers.indexOf(init) + 1), ...containers];
  return cpuSetOf(later.flatMap(({ name }) => ofPod.get(name) ?? []));
}

/** CPUs that no container of the pod has any more return to the shared pool; those already in it are unchanged. @param cpus null: the container has none */
function replace(manager: CpuManager, ofPod: Map<string, CpuSet>, name: string, cpus: CpuSet | null): void {
  const before = ofPod.get(name) ?? [];
  if (cpus === null) ofPod.delete(name);
  else ofPod.set(name, cpus);
  const freed = cpuSetDifference(before, cpuSetOf([...ofPod.values()].flat()));
  if (freed.length > 0) manager.sharedPool = cpuSetUnion(manager.sharedPool, freed);
  // Released CPUs are no longer reusable by the pod, if it is admitted again.
  if (manager.reusable !== null) manager.reusable = { ...manager.reusable, cpus: cpuSetIntersection(manager.reusable.cpus, cpuSetOf([...ofPod.values()].flat())) };
  manager.fileText = null;
}
