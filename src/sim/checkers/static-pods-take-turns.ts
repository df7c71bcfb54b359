// At most one static pod per full name is started and not ended.
import { isStaticPod } from '../../domain/values/pod-kind.js';
import type { Checker } from './checker.js';

export const staticPodsTakeTurns: Checker<null> = {
  name: 'static-pods-take-turns',
  fresh: () => null,
  look(_memory, what, { agent }, report) {
    if (what.kind !== 'step') return;
    const started = new Map<string, string>();
    for (const { uid, fullName, active, startedAt, finished } of agent.workers.records.values()) {
      if (startedAt === null || finished || active?.pod == null || !isStaticPod(active.pod)) continue;
      const other = started.get(fullName);
      if (other !== undefined) report(`the static pods ${other} and ${uid} are both started as ${fullName}`);
      started.set(fullName, uid);
    }
  },
};
