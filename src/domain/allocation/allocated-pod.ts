// The part of a pod's resources that is recorded when they are allocated, and the pod with its allocated resources instead of the requested ones:
// the pod for workers, admission, eviction and cgroups (KEP-1287).
// Invariant: a pod whose request equals its allocation is the same object, so that derived values aren't computed again.
import type { Container, ResourceRequirements } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodResourceEntry } from '../checkpoints/pod-resources-checkpoint.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { isSameRequirements } from './same-resources.js';

export interface ResizeGates {
  /** `InPlacePodLevelResourcesVerticalScaling`: resources of the pod as a whole are recorded. */
  readonly podLevel: boolean;
  /** `InPlacePodVerticalScalingInitContainers`: those of init containers that run to an end are, too. */
  readonly initContainers: boolean;
}

const nothing: ResourceRequirements = {};

export function entryOf(pod: Pod, gates: ResizeGates): PodResourceEntry {
  const containers = recordedContainers(pod, gates).map(({ name, resources }) => [name, resources ?? nothing] as const);
  return { containers: new Map(containers), podLevel: gates.podLevel ? (pod.spec.resources ?? null) : null };
}

/** @param entry undefined: no allocation yet, the requests count */
export function withAllocation(pod: Pod, entry: PodResourceEntry | undefined, gates: ResizeGates): Pod {
  if (entry === undefined) return pod;
  const { spec } = pod;
  const containers = substituted(spec.containers, entry, () => true);
  const initContainers = substituted(spec.initContainers ?? none, entry, (container) => gates.initContainers || isRestartableInit(container));
  const podLevel = gates.podLevel && entry.podLevel !== null && !isSameRequirements(spec.resources, entry.podLevel) ? entry.podLevel : null;
  if (containers === spec.containers && initContainers === (spec.initContainers ?? none) && podLevel === null) return pod;
  const changed = { ...spec, containers };
  if (spec.initContainers !== undefined) changed.initContainers = initContainers;
  if (podLevel !== null) changed.resources = podLevel;
  const copy = { ...pod };
  copy.spec = changed;
  return copy;
}

/** Whether an update changes the recorded resources: only then is it a resize. */
export function areResourcesChanged(before: Pod, after: Pod, gates: ResizeGates): boolean {
  if (before.spec === after.spec) return false;
  if (gates.podLevel && !isSameRequirements(before.spec.resources, after.spec.resources)) return true;
  const then = new Map(recordedContainers(before, gates).map(({ name, resources }) => [name, resources]));
  return recordedContainers(after, gates).some(({ name, resources }) => !isSameRequirements(then.get(name), resources));
}

/** Regular containers, and those init containers that can be resized. */
export function recordedContainers({ spec }: Pod, gates: ResizeGates): readonly Container[] {
  const { containers, initContainers = none } = spec;
  if (initContainers.length === 0) return containers;
  return [...initContainers.filter((container) => gates.initContainers || isRestartableInit(container)), ...containers];
}

const none: readonly Container[] = [];

function substituted(containers: readonly Container[], entry: PodResourceEntry, isRecorded: (container: Container) => boolean): readonly Container[] {
  let changed: Container[] | null = null;
  for (const [i, container] of containers.entries()) {
    const granted = isRecorded(container) ? entry.containers?.get(container.name) : undefined;
    if (granted === undefined || isSameRequirements(container.resources, granted)) continue;
    changed ??= [...containers];
    const copy = { ...container };
    copy.resources = granted;
    changed[i] = copy;
  }
  return changed ?? containers;
}
