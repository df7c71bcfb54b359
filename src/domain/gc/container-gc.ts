// Garbage collection in the runtime: which dead containers, sandboxes, pod log directories and links to logs are removed.
// Each list is decided from a listing of its own, since the actual removals determine what can be removed next: a container that could not be
// removed keeps its sandbox, and its logs.
// Invariant: running objects are never collected, and an existing pod keeps its newest sandbox.
import type { Micros } from '../../ports/micros.js';
import type { ListedContainer, ListedPod } from '../../ports/model/runtime-listing.js';
import { containerIdOfSymlink, podUidOfLogDirectory } from '../values/log-paths.js';
import { newestAttemptFirst } from '../values/newest-first.js';

/** A negative number means no limit. */
export interface ContainerGcPolicy {
  /** Younger containers are left alone. */
  readonly minAge: Micros;
  /** Dead containers to keep of one name in one pod. */
  readonly maxPerPodContainer: number;
  /** Dead containers to keep on the node. */
  readonly maxContainers: number;
}

/** A pod worker's state: `terminated` pods start no more containers, `removed` ones are unknown or deleted. */
export type PodGcState = 'running' | 'terminated' | 'removed';

export interface ContainerGcContext {
  readonly podState: (uid: string) => PodGcState;
  /** How long ago the container was created, by the clock that is never set. */
  readonly ageOf: (uid: string, container: ListedContainer) => Micros;
  /** Every pod source has reported; before that an unknown pod may only not have been heard of. */
  readonly allSourcesReady: boolean;
  /** Under disk pressure terminated pods are cleaned up too. */
  readonly removeForTerminatedPods: boolean;
}

interface AgedContainer extends ListedContainer {
  readonly age: Micros;
}

export interface ContainerToCollect {
  readonly id: string;
  /** Its state is unknown, so it may be running. */
  readonly stopFirst: boolean;
}

/** Dead containers to remove, sorted by id. */
export function containersToCollect(pods: readonly ListedPod[], policy: ContainerGcPolicy, context: ContainerGcContext): ContainerToCollect[] {
  const collected: ListedContainer[] = [];
  let kept: AgedContainer[][] = [];
  for (const pod of pods) {
    const units = [...deadContainersByName(pod, policy.minAge, context.ageOf).values()];
    if (context.allSourcesReady && isPodGone(context, pod.uid)) collected.push(...units.flat());
    else kept.push(...units);
  }
  const keepNewest = (count: number): void => {
    collected.push(...kept.flatMap((unit) => unit.slice(count)));
    kept = kept.map((unit) => unit.slice(0, count)).filter((unit) => unit.length > 0);
  };
  const total = (): number => kept.reduce((sum, unit) => sum + unit.length, 0);
  if (policy.maxPerPodContainer >= 0) keepNewest(policy.maxPerPodContainer);
  if (policy.maxContainers >= 0 && total() > policy.maxContainers) {
    keepNewest(Math.max(1, Math.floor(policy.maxContainers / kept.length)));
    collected.push(
      ...kept
        .flat()
        .sort((a, b) => a.age - b.age || (a.id < b.id ? -1 : 1))
        .slice(policy.maxContainers),
    );
  }
  return collected.map(({ id, state }) => ({ id, stopFirst: state === 'unknown' })).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Sandboxes to stop and remove, sorted by id. Call it with a listing taken after the containers were removed. */
export function sandboxesToCollect(pods: readonly ListedPod[], context: ContainerGcContext): string[] {
  const owners = new Set(pods.flatMap((pod) => pod.containers.map((container) => container.sandboxId)));
  const collected: string[] = [];
  for (const pod of pods) {
    const old = isPodGone(context, pod.uid) ? pod.sandboxes : pod.sandboxes.toSorted(newestAttemptFirst).slice(1);
    for (const sandbox of old) if (sandbox.state === 'notReady' && !owners.has(sandbox.id)) collected.push(sandbox.id);
  }
  return collected.sort();
}

/** Names of pod log directories to remove, sorted. */
export function logDirectoriesToCollect(directoryNames: readonly string[], context: ContainerGcContext): string[] {
  if (!context.allSourcesReady) return [];
  return directoryNames.filter((name) => context.podState(podUidOfLogDirectory(name)) === 'removed').sort();
}

/**
 * Whether a link to a missing log file may be removed. During a rotation the file is absent for a moment, so the link of a
 * container that has not exited stays. The id in the link's name may be truncated.
 */
export function mayRemoveDanglingLogLink(path: string, pods: readonly ListedPod[]): boolean {
  const id = containerIdOfSymlink(path);
  if (id.kind === 'invalid') return true;
  return !pods.some((pod) => pod.containers.some((container) => container.state !== 'exited' && container.id.startsWith(id.value)));
}

function isPodGone(context: ContainerGcContext, uid: string): boolean {
  const state = context.podState(uid);
  return state === 'removed' || (state === 'terminated' && context.removeForTerminatedPods);
}

/** Each list newest first. */
function deadContainersByName(pod: ListedPod, minAge: Micros, ageOf: ContainerGcContext['ageOf']): Map<string, AgedContainer[]> {
  const units = new Map<string, AgedContainer[]>();
  for (const container of pod.containers.toSorted(newestAttemptFirst)) {
    const age = ageOf(pod.uid, container);
    if (container.state === 'running' || age < minAge) continue;
    const unit = units.get(container.name);
    if (unit === undefined) units.set(container.name, [{ ...container, age }]);
    else unit.push({ ...container, age });
  }
  return units;
}
