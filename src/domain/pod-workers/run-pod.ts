// Runs a pod's worker: takes the pending update, waits for a fresh runtime status, starts the operation of the pod's state,
// and handles its result. Each run uses its own update; the merged record only feeds replays.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { assert } from '../kernel/assert.js';
import { isStaticPod } from '../values/pod-kind.js';
import type { PodOperation, PodRest, PodWorkerEffect } from './effects.js';
import { type PodUpdate, type PodWorkerRecord, type PodWorkers, stateOf } from './pod-worker-record.js';

/** Base delays before the next sync of a pod, microseconds; the jitter adds up to half. */
export const resyncInterval: Micros = 60_000_000;
const errorBackOff: Micros = 10_000_000;
const transientErrorBackOff: Micros = 1_000_000;

/** Why a run failed: what the next one waits for depends on it. `network`: only the runtime's network is missing, which comes back soon. */
export type RunFailureKind = 'failed' | 'cancelled' | 'network';

export interface RunResult {
  /** Null: success. */
  readonly error: {
    readonly kind: RunFailureKind;
    readonly message: string;
    /** Back-off expiries found in the error, if any. */
    readonly backOffExpiries: readonly Micros[];
  } | null;
  /** A syncPod found that the pod has run its course. Counts only without an error. */
  readonly podIsTerminal: boolean;
  /** The operation made changes that require a relist at once. */
  readonly postSync: boolean;
  /** A syncPod that sent no requests to the runtime and knows its next event; null: the usual delay. */
  readonly rest: PodRest | null;
}

/** Takes the pending update of an idle worker and begins its run, if the pod may start. */
export function runPending(workers: PodWorkers, record: PodWorkerRecord, now: Micros, effects: PodWorkerEffect[]): void {
  assert(record.run === null, 'a pod is being worked on already', record.uid);
  const update = record.pending;
  if (update === null) return;
  record.pending = null;
  record.backsOff = false;
  const state = stateOf(record);
  if (record.startedAt === null && !(update.runningPod !== null && state === 'terminating')) {
    if (update.pod === null) {
      merge(record, update);
      return;
    }
    const start = mayStart(workers, record, update.pod);
    if (start === 'never') {
      finishUnstarted(workers, record, now);
      return;
    }
    if (start === 'later') {
      record.pending = update;
      effects.push({ kind: 'enqueue', uid: record.uid, baseDelayMicros: errorBackOff, rest: null });
      return;
    }
    record.startedAt = now;
  }
  merge(record, update);
  record.run = { state, update, operating: false, cancelled: false };
  if (update.runningPod !== null) startOperation(record, effects);
  else effects.push({ kind: 'awaitStatus', uid: record.uid, newerThan: record.lastRunEndedAt });
}

/** The status that a run waited for is available; `error`: the cached error. */
export function runStatusRead(workers: PodWorkers, uid: string, error: string | null, now: Micros, effects: PodWorkerEffect[]): void {
  const record = workers.records.get(uid);
  assert(record?.run != null && !record.run.operating, 'a pod waits for no status', uid);
  if (record.run.cancelled || record.run.state !== stateOf(record)) {
    // The awaited operation is obsolete, and its replacement is pending.
    completeRun(
      workers,
      record,
      { error: { kind: 'cancelled', message: 'context canceled', backOffExpiries: [] }, podIsTerminal: false, postSync: false, rest: null },
      now,
      effects,
    );
    return;
  }
  if (error === null) {
    startOperation(record, effects);
    return;
  }
  const message = `error determining status: ${error}`;
  if (record.run.update.pod !== null) effects.push({ kind: 'failedSync', pod: record.run.update.pod, message });
  completeRun(workers, record, { error: { kind: 'failed', message: error, backOffExpiries: [] }, podIsTerminal: false, postSync: false, rest: null }, now, effects);
}

/** The operation of a pod has returned. */
export function runFinished(workers: PodWorkers, uid: string, result: RunResult, now: Micros, effects: PodWorkerEffect[]): void {
  const record = workers.records.get(uid);
  assert(record?.run?.operating === true, 'no operation is in flight for a pod', uid);
  // The time comes before the post-sync: the requested status must count as newer than this run.
  // A run without changes leaves the status valid.
  if (result.rest === null) record.lastRunEndedAt = now;
  if (result.postSync) effects.push({ kind: 'postSync', uid });
  completeRun(workers, record, result, now, effects);
}

function startOperation(record: PodWorkerRecord, effects: PodWorkerEffect[]): void {
  const run = record.run;
  assert(run !== null, 'a run is set before its operation');
  run.operating = true;
  effects.push({ kind: 'start', uid: record.uid, operation: operationOf(record, run.update), statusNewerThan: record.lastRunEndedAt });
}

function operationOf(record: PodWorkerRecord, update: PodUpdate): PodOperation {
  const state = record.run?.state ?? stateOf(record);
  if (state === 'terminating') {
    record.startedTerminating = true;
    if (update.runningPod !== null) return { op: 'syncTerminatingRuntimePod', runningPod: update.runningPod, gracePeriodSeconds: record.gracePeriodSeconds };
    const statusChange = record.statusChanges.at(-1) ?? null;
    return { op: 'syncTerminatingPod', pod: update.pod as Pod, gracePeriodSeconds: update.killOptions?.gracePeriodOverride ?? null, statusChange };
  }
  assert(update.pod !== null, 'a pod has no configuration to sync', record.uid);
  if (state === 'terminated') return { op: 'syncTerminatedPod', pod: update.pod };
  return { op: 'syncPod', type: update.type, pod: update.pod, mirrorPod: update.mirrorPod };
}

function completeRun(workers: PodWorkers, record: PodWorkerRecord, result: RunResult, now: Micros, effects: PodWorkerEffect[]): void {
  const run = record.run;
  assert(run !== null, 'a pod is not being worked on', record.uid);
  record.run = null;
  record.backsOff = result.error !== null && result.error.kind !== 'cancelled';
  let transition = false;
  if (result.error === null) {
    if (run.state === 'terminated') {
      record.finished = true;
      releaseStaticName(workers, record);
      return;
    }
    if (run.state === 'terminating' && run.update.runningPod !== null) {
      forget(workers, record);
      return;
    }
    transition = advance(record, run.state, result.podIsTerminal, now, effects);
  }
  effects.push({
    kind: 'enqueue',
    uid: record.uid,
    baseDelayMicros: transition ? 0 : requeueDelay(result, now),
    rest: transition ? null : (result.rest ?? backOffEnd(result, now)),
  });
  runPending(workers, record, now, effects);
}

/** Success of a run may end the state that the pod was in; then the next one is run at once. */
function advance(record: PodWorkerRecord, state: 'sync' | 'terminating', podIsTerminal: boolean, now: Micros, effects: PodWorkerEffect[]): boolean {
  if (state === 'sync') {
    if (!podIsTerminal) return false;
    record.terminatingAt ??= now;
    record.startedTerminating = true;
  } else {
    record.terminatedAt = now;
    for (const completion of record.completions) effects.push({ kind: 'complete', completion });
    record.completions = [];
    record.statusChanges = [];
  }
  replayActive(record);
  return true;
}

function requeueDelay(result: RunResult, now: Micros): Micros {
  if (result.error === null) return resyncInterval;
  if (result.error.kind === 'network') return transientErrorBackOff;
  if (result.error.backOffExpiries.length === 0) return errorBackOff;
  return Math.min(Math.max(Math.min(...result.error.backOffExpiries) - now, 0), resyncInterval);
}

/** A run with pending back-offs resumes when the first of them ends; the runtime's events cover its other results. */
function backOffEnd(result: RunResult, now: Micros): PodRest | null {
  if (result.error?.kind !== 'failed' || result.error.backOffExpiries.length === 0) return null;
  return { until: Math.min(...result.error.backOffExpiries, now + resyncInterval) };
}

/** A pod that its source no longer has is due: repeats the last update acted on. */
export function runUnwanted(workers: PodWorkers, uid: string, now: Micros, effects: PodWorkerEffect[]): void {
  const record = workers.records.get(uid);
  if (record === undefined || record.finished || record.run !== null || record.terminatingAt === null) return;
  replayActive(record);
  runPending(workers, record, now, effects);
}

/** Restores the last update acted on as pending, unless a newer one waits. */
export function replayActive(record: PodWorkerRecord): void {
  if (record.pending === null && record.active !== null) record.pending = record.active;
}

function merge(record: PodWorkerRecord, update: PodUpdate): void {
  const active = record.active;
  const kill = update.killOptions;
  record.active = {
    type: 'sync',
    pod: active?.pod == null || update.runningPod === null ? update.pod : active.pod,
    mirrorPod: update.mirrorPod ?? active?.mirrorPod ?? null,
    runningPod: update.runningPod,
    killOptions: kill === null ? (active?.killOptions ?? null) : { evict: kill.evict, gracePeriodOverride: kill.gracePeriodOverride, statusChange: null, completion: null },
    startTime: null,
  };
}

/** Of several static pods with one full name, only one runs; the others follow in the order of their arrival. */
function mayStart(workers: PodWorkers, record: PodWorkerRecord, pod: Pod): 'now' | 'later' | 'never' {
  if (!isStaticPod(pod)) return 'now';
  if (record.terminatingAt !== null) return 'never';
  const { fullName, uid } = record;
  const started = workers.startedStaticPods.get(fullName);
  if (started !== undefined) return started === uid ? 'now' : 'later';
  const waiting = workers.waitingStaticPods.get(fullName) ?? [];
  const next = waiting.findIndex((id) => {
    const other = workers.records.get(id);
    return other !== undefined && other.terminatingAt === null;
  });
  const left = next === -1 ? [] : waiting.slice(waiting[next] === uid ? next + 1 : next);
  if (left.length > 0) workers.waitingStaticPods.set(fullName, left);
  else workers.waitingStaticPods.delete(fullName);
  if (next !== -1 && waiting[next] !== uid) return 'later';
  workers.startedStaticPods.set(fullName, uid);
  return 'now';
}

function finishUnstarted(workers: PodWorkers, record: PodWorkerRecord, now: Micros): void {
  record.terminatedAt = now;
  record.finished = true;
  leaveStaticName(workers, record);
}

/** It neither has the name any more nor waits for it. */
function leaveStaticName(workers: PodWorkers, record: PodWorkerRecord): void {
  releaseStaticName(workers, record);
  const waiting = workers.waitingStaticPods.get(record.fullName);
  if (waiting?.includes(record.uid) !== true) return;
  const left = waiting.filter((uid) => uid !== record.uid);
  if (left.length > 0) workers.waitingStaticPods.set(record.fullName, left);
  else workers.waitingStaticPods.delete(record.fullName);
}

function releaseStaticName(workers: PodWorkers, record: PodWorkerRecord): void {
  if (workers.startedStaticPods.get(record.fullName) === record.uid) workers.startedStaticPods.delete(record.fullName);
}

/** Drops every trace of a record. Its worker must be idle. */
export function forget(workers: PodWorkers, record: PodWorkerRecord): void {
  assert(record.run === null, 'a pod is forgotten while it is being worked on', record.uid);
  workers.records.delete(record.uid);
  leaveStaticName(workers, record);
}
