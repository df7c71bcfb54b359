// Queries about a UID. UIDs without a record are covered too: before the first housekeeping their state is unknown (assume the worst), afterwards they are
// removed.

import type { View } from '../kernel/view.js';
import type { PodWorkers } from './pod-worker-record.js';

/** Whether all containers are known to have stopped. */
export function isPodKnownTerminated(workers: PodWorkers, uid: string): boolean {
  return workers.records.get(uid)?.terminatedAt != null;
}

/** Whether containers of the pod may run or may be started again. */
export function couldHaveRunningContainers(workers: View<PodWorkers>, uid: string): boolean {
  const record = workers.records.get(uid);
  return record === undefined ? !workers.synced : record.terminatedAt === null;
}

/** Whether everything about the pod is done. */
export function shouldPodBeFinished(workers: View<PodWorkers>, uid: string): boolean {
  return workers.records.get(uid)?.finished ?? workers.synced;
}

/** Whether termination was requested, begun or not. */
export function isPodTerminationRequested(workers: View<PodWorkers>, uid: string): boolean {
  return workers.records.get(uid)?.terminatingAt != null;
}

/** Whether nothing of the pod may be started or mounted any more. */
export function shouldPodContainersBeTerminating(workers: PodWorkers, uid: string): boolean {
  return workers.records.get(uid)?.startedTerminating ?? workers.synced;
}

/** Whether the pod's sandbox, volumes and cgroup may be removed. */
export function shouldPodRuntimeBeRemoved(workers: View<PodWorkers>, uid: string): boolean {
  const record = workers.records.get(uid);
  return record === undefined ? workers.synced : record.terminatedAt !== null;
}

/** Whether containers, logs and directories of the pod may be deleted. */
export function shouldPodContentBeRemoved(workers: View<PodWorkers>, uid: string): boolean {
  const record = workers.records.get(uid);
  return record === undefined ? workers.synced : record.evicted || (record.deleted && record.terminatedAt !== null);
}

/** Whether the static pod of that full name is on its way out, so that its mirror pod has to stay a little longer. */
export function isPodForMirrorPodTerminatingByFullName(workers: View<PodWorkers>, fullName: string): boolean {
  const uid = workers.startedStaticPods.get(fullName);
  const record = uid === undefined ? undefined : workers.records.get(uid);
  return record !== undefined && record.terminatingAt !== null && record.terminatedAt === null;
}
