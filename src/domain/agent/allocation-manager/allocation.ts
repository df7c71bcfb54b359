// Allocated resources of pods, as a part of the agent: read at the start, substituted for the requests, recorded at admission.
//
// Invariant: the pods of the index, and so of workers, admission and eviction, have their allocated resources; different requests
// are in `desired`.

import type { ResourceRequirements } from '../../../ports/model/container.js';
import type { Pod } from '../../../ports/model/pod.js';
import { entryOf, withAllocation } from '../../allocation/allocated-pod.js';
import { type AllocationState, type CheckpointFile, forgetAllocation, isAllocationKnown, isSaved } from '../../allocation/allocation-state.js';
import type { PodResourceEntry } from '../../checkpoints/pod-resources-checkpoint.js';
import { assert } from '../../kernel/assert.js';
import type { ActuatedResources } from '../../pod-sync/container-resize.js';
import type { AllocationOfPods } from '../../pod-sync/sync-context.js';
import { derived } from '../../values/derived.js';
import { isMirrorPod } from '../../values/pod-kind.js';
import type { AgentView } from '../agent-view.js';
import { addToIndex } from '../pod-manager/indexed-pods.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { allocationManagerState } from './slice.js';

/** Puts a pod into the index with its allocated resources. */
export function putAllocated(state: AgentView, given: Pod): Pod {
  if (isMirrorPod(given)) {
    addToIndex(state, given);
    return given;
  }
  const { allocation } = allocationManagerState(state);
  const uid = uidOf(given);
  const pod = withAllocation(given, allocation.allocated.get(uid), allocation.gates);
  if (pod === given) allocation.desired.delete(uid);
  else allocation.desired.set(uid, given);
  addToIndex(state, pod);
  return pod;
}

/** The pod with its requested resources; undefined: unknown. */
export function desiredPod({ pods, allocation }: AgentView, uid: string): Pod | undefined {
  return allocation.desired.get(uid) ?? pods.pods.get(uid);
}

/** A pod has been admitted: allocates its requests, unless it has an allocation. */
export function recordAdmitted(view: AgentView, pod: Pod): void {
  const { allocation } = allocationManagerState(view);
  if (!allocation.allocated.has(uidOf(pod))) allocate(allocation, pod);
}

/** Allocates a pod's requests. */
export function allocate(allocation: AllocationState, pod: Pod): void {
  const uid = uidOf(pod);
  assert(isAllocationKnown(allocation), 'a pod gets an allocation before those of the previous agent were read', uid);
  allocation.allocated.set(uid, entryOf(pod, allocation.gates));
  touch(allocation.files.allocated, uid);
}

function recordContainer(view: AgentView, uid: string, containerName: string, resources: ResourceRequirements): void {
  const { allocation } = allocationManagerState(view);
  const known = allocation.actuated.get(uid);
  const containers = new Map(known?.containers ?? []);
  if (containers.get(containerName) === resources) return;
  containers.set(containerName, resources);
  allocation.actuated.set(uid, { containers, podLevel: known?.podLevel ?? null });
  touch(allocation.files.actuated, uid);
}

function recordPodLevel(view: AgentView, uid: string, podLevel: ResourceRequirements | null): void {
  const { allocation } = allocationManagerState(view);
  const known = allocation.actuated.get(uid);
  if ((known?.podLevel ?? null) === podLevel) return;
  allocation.actuated.set(uid, { containers: known?.containers ?? new Map(), podLevel });
  touch(allocation.files.actuated, uid);
}

function touch(file: CheckpointFile, uid: string): void {
  file.dirty = true;
  file.writer.unsaved.add(uid);
}

const nothingActuated: ActuatedResources = { containers: new Map(), pod: null };

export function actuatedOf({ allocation }: AgentView, uid: string): ActuatedResources {
  const entry = allocation.actuated.get(uid);
  return entry === undefined ? nothingActuated : asActuated(entry);
}

const asActuated = derived(({ containers, podLevel }: PodResourceEntry): ActuatedResources => ({ containers: containers ?? nothingActuated.containers, pod: podLevel }));

/** The pod as its containers and its cgroup were last given their resources. */
export function actuatedPod({ allocation }: AgentView, pod: Pod): Pod {
  return withAllocation(pod, allocation.actuated.get(uidOf(pod)), allocation.gates);
}

/** The allocation's interface to the runs of pods. */
export function allocationOfPods(view: AgentView): AllocationOfPods {
  const state = allocationManagerState(view);
  const saved = (file: CheckpointFile, uid: string): boolean => {
    if (isSaved(file, uid)) return true;
    file.waiting.add(uid);
    return false;
  };
  const { files } = state.allocation;
  return {
    isGrantSaved: (uid) => saved(files.allocated, uid),
    areActuatedSaved: (uid) => saved(files.actuated, uid),
    containerActuated: (uid, containerName, resources) => recordContainer(state, uid, containerName, resources),
    podActuated: (uid, resources) => recordPodLevel(state, uid, resources),
    actuatedPod: (pod) => actuatedPod(state, pod),
  };
}

/** Drops the allocation of a pod that no part knows any more. */
export function forgetPodAllocation(state: AgentView, uid: string): void {
  forgetAllocation(allocationManagerState(state).allocation, uid);
}
