// Updates of running containers' CPU sets in the runtime: after a container takes exclusive CPUs, the sets of all others shrink.
// Invariant: a container is updated only if its set differs from the last one sent; after a restart of the agent, each container is updated once.

import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import { type CpuSet, equalCpuSets } from '../values/cpu-set.js';
import { parseContainerId } from '../values/pod-references.js';
import { type CpuManager, containerCpus } from './cpu-manager.js';

export type CpuReconcileItem =
  /** The container's CPU set is up to date. */
  | { readonly kind: 'current'; readonly pod: Pod; readonly containerName: string; readonly containerId: string }
  /** Update the container in the runtime, then call `noteCpuUpdate`. */
  | { readonly kind: 'update'; readonly pod: Pod; readonly containerName: string; readonly containerId: string; readonly cpus: CpuSet }
  /** Not known well enough yet; the next round checks again. `containerName` null: nothing is known of the pod. */
  | { readonly kind: 'unknown'; readonly pod: Pod; readonly containerName: string | null };

/** In the order of `pods`, init containers first. Skips ended containers: they may start again and keep their CPUs. */
export function cpuReconcileItems(manager: CpuManager, pods: readonly Pod[], statusOf: (podUid: string) => PodStatus | null): CpuReconcileItem[] {
  if (manager.policy === null) return [];
  return pods.flatMap((pod): CpuReconcileItem[] => {
    const status = statusOf(pod.metadata.uid ?? '');
    if (status === null) return [{ kind: 'unknown', pod, containerName: null }];
    const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap(({ name }) => containerItem(manager, pod, name, statuses));
  });
}

function containerItem(manager: CpuManager, pod: Pod, containerName: string, statuses: readonly ContainerStatus[]): CpuReconcileItem[] {
  const status = statuses.find(({ name }) => name === containerName);
  const parsed = parseContainerId(status?.containerID ?? '');
  const containerId = parsed.kind === 'ok' ? parsed.value.id : '';
  if (status === undefined || containerId === '') return [{ kind: 'unknown', pod, containerName }];
  if (status.state?.terminated !== undefined) return [];
  const podUid = pod.metadata.uid ?? '';
  const cpus = containerCpus(manager, podUid, containerName);
  if (status.state?.running === undefined || cpus.length === 0) return [{ kind: 'unknown', pod, containerName }];
  if (equalCpuSets(cpus, manager.lastUpdates.get(podUid)?.get(containerName) ?? [])) return [{ kind: 'current', pod, containerName, containerId }];
  return [{ kind: 'update', pod, containerName, containerId, cpus }];
}

/** The runtime has accepted the set, or the container was created with it. */
export function noteCpuUpdate(manager: CpuManager, podUid: string, containerName: string, cpus: CpuSet): void {
  const ofPod = manager.lastUpdates.get(podUid) ?? new Map<string, CpuSet>();
  manager.lastUpdates.set(podUid, ofPod.set(containerName, cpus));
}
