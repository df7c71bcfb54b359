// Housekeeping's view: the UIDs with workers, and terminating those that no source has.
import type { Micros } from '../../ports/micros.js';
import { isStaticPod } from '../values/pod-kind.js';
import type { PodWorkerEffect } from './effects.js';
import { effectiveGracePeriod } from './grace-period.js';
import { type PodWorkerRecord, type PodWorkerState, type PodWorkers, stateOf } from './pod-worker-record.js';
import { forget, replayActive, runPending } from './run-pod.js';

export interface KnownPod {
  readonly state: PodWorkerState;
  readonly orphan: boolean;
  readonly hasConfig: boolean;
  readonly static: boolean;
}

/**
 * Compares the records with the wanted UIDs. Forgets and leaves out records that are finished and unwanted (or have a restart requested); terminates orphans
 * that run. The caller must add wanted UIDs that are missing from the answer again.
 * @param heedsBackOff an orphan whose last run failed keeps its back-off; the reference runs it again at each pass
 */
export function syncKnownPods(workers: PodWorkers, desired: ReadonlySet<string>, now: Micros, effects: PodWorkerEffect[], heedsBackOff = false): Map<string, KnownPod> {
  workers.synced = true;
  const known = new Map<string, KnownPod>();
  for (const record of [...workers.records.values()]) {
    const orphan = !desired.has(record.uid);
    if ((record.restartRequested || orphan) && removed(workers, record, orphan, now, effects, heedsBackOff)) continue;
    const pod = (record.active ?? record.pending)?.pod ?? null;
    known.set(record.uid, { state: stateOf(record), orphan, hasConfig: pod !== null, static: pod !== null && isStaticPod(pod) });
  }
  return known;
}

function removed(workers: PodWorkers, record: PodWorkerRecord, orphan: boolean, now: Micros, effects: PodWorkerEffect[], heedsBackOff: boolean): boolean {
  if (!record.finished) {
    if (!orphan) return false;
    record.deleted = true;
    if (record.startedAt !== null || record.observedRuntime) {
      const isNew = record.terminatingAt === null;
      if (isNew) terminateOrphan(record, now);
      replayActive(record);
      if (record.run === null && record.active !== null && (isNew || !heedsBackOff || !record.backsOff)) runPending(workers, record, now, effects);
      return false;
    }
  }
  forget(workers, record);
  return true;
}

function terminateOrphan(record: PodWorkerRecord, now: Micros): void {
  record.terminatingAt = now;
  const active = record.active;
  record.gracePeriodSeconds = active?.pod == null ? 1 : effectiveGracePeriod(record.gracePeriodSeconds, active.pod, active.killOptions?.gracePeriodOverride ?? null).seconds;
}
