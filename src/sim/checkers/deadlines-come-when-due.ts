// A pod's activeDeadlineSeconds pass when they have passed: never before, by the clock that is never set. They are counted from the pod's start as this
// agent has seen it; of a start before its own the agent knows no more than the stamp.
import { podAndMirror } from '../../domain/agent/pod-index.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Checker } from './checker.js';

interface Seen {
  readonly startTime: string;
  readonly at: Micros;
}

/** Start times are written to the second. */
const slack: Micros = 1_100_000;
const perSecond: Micros = 1_000_000;

export const deadlinesComeWhenDue: Checker<Map<string, Seen | null>> = {
  name: 'deadlines-come-when-due',
  fresh: () => new Map(),
  look(memory, what, { agent, now }, report) {
    if (what.kind === 'started') {
      memory.clear();
      return;
    }
    if (what.kind !== 'step') return;
    for (const [uid, { status }] of agent.statuses) {
      const pod = agent.pods.pods.get(uid);
      const deadline = pod?.spec.activeDeadlineSeconds;
      if (pod === undefined || deadline === undefined || status.startTime === undefined) continue;
      if (!memory.has(uid)) memory.set(uid, isNewStart(pod, podAndMirror(agent.pods, pod).mirror) ? { startTime: status.startTime, at: now } : null);
      // The start that a mirror pod shows is taken over once it is seen.
      if (memory.get(uid)?.startTime !== status.startTime) memory.set(uid, null);
      const seen = memory.get(uid) ?? null;
      if (seen === null || status.reason !== 'DeadlineExceeded' || now - seen.at >= deadline * perSecond - slack) continue;
      report(`pod ${uid} has ended by its deadline of ${deadline} s after ${(now - seen.at) / perSecond} s`);
      memory.set(uid, null);
    }
    for (const uid of memory.keys()) if (!agent.statuses.has(uid)) memory.delete(uid);
  },
};

/** The API showed no start when the agent first had a status of the pod. */
function isNewStart({ status }: Pod, mirror: Pod | null): boolean {
  return (status?.startTime ?? mirror?.status?.startTime ?? null) === null;
}
