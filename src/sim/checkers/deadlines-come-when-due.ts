// A pod's activeDeadlineSeconds pass when they have passed, by the clock that is never set: never before, and a pod that an agent works on doesn't run on for
// long. They are counted from the pod's start as the agents have seen it. Over a restart of the agent, a start counts if it was written down before.
import type { AgentState } from '../../domain/agent/agent-state.js';
import { podAndMirror } from '../../domain/agent/pod-manager/pod-index.js';
import { isAside } from '../../domain/agent/set-aside/aside-pods.js';
import { observedTimesFileName } from '../../domain/checkpoints/observed-times.js';
import { isTerminalPhase } from '../../domain/status/phase.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { CheckedNode, Checker } from './checker.js';

interface Seen {
  readonly startTime: string;
  readonly at: Micros;
  isWritten: boolean;
}

interface Memory {
  /** By pod uid; null: its start wasn't seen. */
  readonly pods: Map<string, Seen | null>;
  /** Of the agent. */
  startedAt: Micros;
}

/** Start times are written to the second. */
const slack: Micros = 1_100_000;
const perSecond: Micros = 1_000_000;
/** A sync that waits for volumes, an image or a hook notices the deadline at its end. */
const patience: Micros = 600 * perSecond;

export const deadlinesComeWhenDue: Checker<Memory> = {
  name: 'deadlines-come-when-due',
  fresh: () => ({ pods: new Map(), startedAt: 0 }),
  look(memory, what, node, report) {
    if (what.kind === 'started') {
      memory.startedAt = node.now;
      for (const [uid, seen] of memory.pods) if (seen?.isWritten === false) memory.pods.set(uid, null);
      return;
    }
    if (what.kind !== 'step') return;
    const { agent, now } = node;
    for (const [uid, { status }] of agent.statuses) {
      const pod = agent.pods.pods.get(uid);
      const deadline = pod?.spec.activeDeadlineSeconds;
      if (pod === undefined || deadline === undefined || status.startTime === undefined) continue;
      const seen = seenStart(memory.pods, uid, pod, status.startTime, node);
      if (seen === null) continue;
      const due = seen.at + deadline * perSecond;
      const says = (when: string) => {
        report(`pod ${uid} ${when} its deadline of ${deadline} s after ${(now - seen.at) / perSecond} s`);
        memory.pods.set(uid, null);
      };
      if (status.reason === 'DeadlineExceeded' && now < due - slack) says('has ended by');
      else if (now > Math.max(due, memory.startedAt) + patience && !isTerminalPhase(status.phase) && isWorkedOn(agent, uid)) says('has not ended by');
    }
    // What an agent has not found again yet may still come.
    if (now > memory.startedAt + patience) for (const uid of memory.pods.keys()) if (!agent.statuses.has(uid)) memory.pods.delete(uid);
  },
};

function seenStart(pods: Memory['pods'], uid: string, pod: Pod, startTime: string, { agent, host, now }: CheckedNode): Seen | null {
  if (!pods.has(uid)) pods.set(uid, isNewStart(pod, podAndMirror(agent.pods, pod).mirror) ? { startTime, at: now, isWritten: false } : null);
  const seen = pods.get(uid) ?? null;
  // The start that a mirror pod shows is taken over once it is seen.
  if (seen?.startTime !== startTime) pods.set(uid, null);
  else if (!seen.isWritten) seen.isWritten = host.stateFiles.get(observedTimesFileName)?.includes(`"${uid}":{"startTime":"${startTime}"`) === true;
  return pods.get(uid) ?? null;
}

/** The API showed no start when the agent first had a status of the pod. */
function isNewStart({ status }: Pod, mirror: Pod | null): boolean {
  return (status?.startTime ?? mirror?.status?.startTime ?? null) === null;
}

function isWorkedOn(agent: AgentState, uid: string): boolean {
  const record = agent.workers.records.get(uid);
  return record !== undefined && record.terminatingAt === null && !isAside(agent, uid);
}
