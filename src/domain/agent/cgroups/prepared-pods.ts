// Pods whose cgroup and directories this agent has created: once, not at every sync. Only a vanished cgroup invalidates it,
// which the check of all cgroups finds; each start of a container creates missing directories.
//
//   syncPod created both -> prepared -> another pod object, a termination, or a missing cgroup -> the next sync creates again
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { AgentView } from '../agent-view.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { cgroupsState } from './slice.js';

export function isPrepared({ prepared }: AgentView, pod: Pod): boolean {
  return prepared.pods.get(uidOf(pod))?.pod === pod;
}

export function setPrepared(view: AgentView, pod: Pod, at: Micros): void {
  const { prepared } = cgroupsState(view);
  prepared.pods.set(uidOf(pod), { pod, at });
}

export function setUnprepared(view: AgentView, uid: string): void {
  const { prepared } = cgroupsState(view);
  prepared.pods.delete(uid);
}

/** Pods whose cgroups have vanished. Skips those prepared after the request: the answer may not include them. */
export function vanishedPods({ prepared }: AgentView, present: ReadonlySet<string>, askedAt: Micros): string[] {
  const vanished: string[] = [];
  for (const [uid, { at }] of prepared.pods) if (at < askedAt && !present.has(uid)) vanished.push(uid);
  return vanished;
}
