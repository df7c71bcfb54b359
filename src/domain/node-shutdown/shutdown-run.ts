// The course of a shutdown: one group after the other is killed, then waits until its pods are gone and their volumes unmounted,
// or its time is up.
//
//   state     event                                         becomes
//   group i   first check                                   its pods are killed, its time starts
//   group i   all pods of the group are gone                group i+1
//   group i   the group's seconds have passed               group i+1
//   the last  either of both                                done: the inhibitor lock may be released
//
// Invariant: groups run in ascending priority, each is killed once, and an empty one costs no time.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { microsPerSecond } from '../values/time.js';
import { type ShutdownGroup, shutdownGracePeriodSeconds } from './shutdown-groups.js';

export interface ShutdownRun {
  readonly groups: readonly ShutdownGroup[];
  /** The group that is ending; as many as there are groups when all is done. */
  readonly index: number;
  /** The end of its time; null before its pods are killed. */
  readonly deadline: Micros | null;
}

export interface ShutdownStep {
  readonly run: ShutdownRun;
  /** To be killed now, all at once. */
  readonly kills: readonly { readonly pod: Pod; readonly gracePeriodSeconds: number }[];
  /** null when all is done. */
  readonly wakeAt: Micros | null;
}

export function beginShutdown(groups: readonly ShutdownGroup[]): ShutdownRun {
  return { groups, index: 0, deadline: null };
}

/** @param isGone whether the pod has ended and nothing of its volumes is mounted any more */
export function advanceShutdown(before: ShutdownRun, isGone: (pod: Pod) => boolean, now: Micros): ShutdownStep {
  let run = before;
  for (;;) {
    const group = run.groups[run.index];
    if (group === undefined) return { run, kills: [], wakeAt: null };
    const left = group.pods.filter((pod) => !isGone(pod));
    if (left.length === 0 || (run.deadline !== null && now >= run.deadline)) {
      run = { ...run, index: run.index + 1, deadline: null };
      continue;
    }
    if (run.deadline !== null) return { run, kills: [], wakeAt: run.deadline };
    const deadline = now + group.shutdownGracePeriodSeconds * microsPerSecond;
    const kills = left.map((pod) => ({ pod, gracePeriodSeconds: shutdownGracePeriodSeconds(pod, group) }));
    return { run: { ...run, deadline }, kills, wakeAt: deadline };
  }
}
