// Pods that ran before this agent started. A static pod whose manifest was changed meanwhile has a new UID, and its previous version still runs: it
// is terminated, within the grace period of its successor, before the successor is created. This needs no API.
//
// Invariant: an entry is removed once the runtime shows nothing of it alive; pods started by this agent are never added, their workers keep the order.
import type { Pod } from '../../../ports/model/pod.js';
import type { ListedPod } from '../../../ports/model/runtime-listing.js';
import { isPodBehind } from '../../pod-cache/pod-cache.js';
import type { PodWorkerEffect } from '../../pod-workers/effects.js';
import { isAlive } from '../../values/alive.js';
import { isStaticPod } from '../../values/pod-kind.js';
import { podFullName, podFullNameOf } from '../../values/pod-references.js';
import type { AgentContext } from '../agent-context.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { endRunningPod } from '../pod-workers/requests.js';
import { isAside } from '../set-aside/aside-pods.js';
import { bringBackFor } from '../set-aside/set-aside.js';
import { asPodConfig } from './slice.js';

/** Adds the pods of the first listing of the runtime. */
export function inheritPods(caller: AgentContext, pods: readonly ListedPod[]): void {
  const context = asPodConfig(caller);
  for (const pod of pods) if (isAlive(pod)) context.state.inherited.set(pod.uid, podFullName(pod.name, pod.namespace));
}

/** Has the earlier selves of a static pod ended that are still alive. Returns their UIDs; none: the pod may be started. */
export function endPredecessors(caller: AgentContext, pod: Pod, effects: PodWorkerEffect[]): string[] {
  const context = asPodConfig(caller);
  const { inherited, pods, workers, cache } = context.state;
  if (inherited.size === 0 || !isStaticPod(pod)) return [];
  const fullName = podFullNameOf(pod);
  const uids = [...inherited].flatMap(([uid, name]) => (name === fullName && uid !== uidOf(pod) && !pods.pods.has(uid) ? [uid] : []));
  for (const uid of uids) {
    // Its containers are known after its first inspection.
    if (workers.records.has(uid) || isPodBehind(cache, uid)) continue;
    if (isAside(context.state, uid)) {
      bringBackFor(context, uid);
      continue;
    }
    const runningPod = { uid, name: pod.metadata.name, namespace: pod.metadata.namespace ?? '' };
    const killOptions = { evict: false, gracePeriodOverride: orphanGraceSeconds(context, fullName), statusChange: null, completion: null };
    endRunningPod(context, { type: 'kill', pod: null, mirrorPod: null, runningPod, killOptions, startTime: context.turn.now }, effects);
  }
  return uids;
}

/** The pod changed in the runtime. Returns the UID of the pod that waited for its end, if it has ended. */
export function successorOf(caller: AgentContext, uid: string): string | null {
  const context = asPodConfig(caller);
  const { inherited, pods, pleg } = context.state;
  const fullName = inherited.get(uid);
  if (fullName === undefined) return null;
  const listed = pleg.records.get(uid)?.listed ?? null;
  if (listed !== null && isAlive(listed)) return null;
  inherited.delete(uid);
  const successor = pods.podsByFullName.get(fullName);
  return successor === undefined || uidOf(successor) === uid ? null : uidOf(successor);
}

/** The grace period of a pod that only the runtime knows: that of the succeeding static pod, otherwise the minimum. Seconds. */
export function orphanGraceSeconds(context: AgentContext, fullName: string): number {
  const successor = context.state.pods.podsByFullName.get(fullName);
  return successor !== undefined && isStaticPod(successor) ? Math.max(successor.spec.terminationGracePeriodSeconds ?? 1, 1) : 1;
}
