// The grace period of a terminating pod never grows, and no container of it gets more.
import { minStopTimeoutSeconds } from '../../domain/pod-sync/kill-grace.js';
import type { Micros } from '../../ports/micros.js';
import type { Checker } from './checker.js';

/** Pods whose grace period is decided. A pod that was forgotten and came back has been seen first at another time. */
type Memory = Map<string, { readonly syncedAt: Micros; readonly seconds: number }>;

export const graceOnlyShrinks: Checker<Memory> = {
  name: 'grace-only-shrinks',
  fresh: () => new Map(),
  look(memory, what, { agent, runtime }, report) {
    if (what.kind === 'started') memory.clear();
    if (what.kind === 'step') {
      for (const uid of memory.keys()) if (!agent.workers.records.has(uid)) memory.delete(uid);
      for (const { uid, syncedAt, gracePeriodSeconds: seconds } of agent.workers.records.values()) {
        if (seconds === 0) continue;
        const before = memory.get(uid);
        if (before?.syncedAt === syncedAt && seconds > before.seconds) report(`the grace period of pod ${uid} grew from ${before.seconds} to ${seconds} s`);
        if (before?.syncedAt !== syncedAt || before.seconds !== seconds) memory.set(uid, { syncedAt, seconds });
      }
    }
    if (what.kind !== 'command' || what.command.op !== 'containers.stop') return;
    const { containerId, gracePeriodSeconds } = what.command.request;
    const uid = runtime.containers.get(containerId)?.podUid ?? '';
    const record = agent.workers.records.get(uid);
    if (record?.startedTerminating !== true || record.gracePeriodSeconds === 0) return;
    const most = Math.max(record.gracePeriodSeconds, minStopTimeoutSeconds);
    if (gracePeriodSeconds > most) report(`a container of pod ${uid} is given ${gracePeriodSeconds} s, the pod has ${most} s`);
  },
};
