// The order in which a pod's containers stop: regular ones first, all at once, then the sidecars from the last to the first (KEP-753).
// Invariant: the waits have no cycle, and a pod without sidecars has none at all.
import type { Pod } from '../../ports/model/pod.js';
import { isRestartableInit } from '../status/restart-rules.js';

/**
 * For each running container the containers that must stop before its own stop is requested, sorted.
 * A sidecar waits for the regular containers and for the next later sidecar; one that doesn't run counts as stopped.
 */
export function terminationOrder(pod: Pod, runningContainers: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const running = new Set(runningContainers);
  const waitsFor = new Map<string, string[]>(runningContainers.map((name) => [name, []]));
  const regular = pod.spec.containers.map((container) => container.name).filter((name) => running.has(name));
  let later: string | null = null;
  for (const container of (pod.spec.initContainers ?? []).toReversed()) {
    if (!isRestartableInit(container)) continue;
    const { name } = container;
    if (running.has(name)) waitsFor.set(name, [...regular, ...(later !== null && running.has(later) ? [later] : [])].sort());
    later = name;
  }
  return waitsFor;
}

/** Whether nothing of what `containerName` waits for is still there. */
export function isTurnToStop(order: ReadonlyMap<string, readonly string[]>, containerName: string, stopped: ReadonlySet<string>): boolean {
  return (order.get(containerName) ?? []).every((name) => stopped.has(name));
}
