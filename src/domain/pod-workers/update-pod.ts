// Takes a pod update in: decides what it means for the record, remembers it as the pending one, and lets the worker run if it may.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { assert } from '../kernel/assert.js';
import { isStaticPod } from '../values/pod-kind.js';
import { podFullName } from '../values/pod-references.js';
import type { PodWorkerEffect } from './effects.js';
import { effectiveGracePeriod } from './grace-period.js';
import { newRecord, type PodUpdate, type PodWorkerRecord, type PodWorkers, type RunningPod } from './pod-worker-record.js';
import { runPending } from './run-pod.js';

/**
 * Delivers an update to the worker of its UID. An update names a pod, or a running pod that has no configuration (then only a kill
 * counts), or both (then the running pod is ignored). `runtimeMayBeActive` tells whether the runtime's cached status shows a running
 * container or a ready sandbox, or can't be read; it is asked only for pods that are first seen in a terminal phase.
 */
export function updatePod(workers: PodWorkers, given: PodUpdate, now: Micros, runtimeMayBeActive: (uid: string) => boolean, effects: PodWorkerEffect[]): void {
  const uid = given.pod?.metadata.uid ?? given.runningPod?.uid;
  assert(uid !== undefined && uid !== '', 'a pod update names no UID');
  const fromRuntimeOnly = given.pod === null;
  if (fromRuntimeOnly && given.type !== 'kill') return;
  let record = workers.records.get(uid);
  const first = record === undefined;
  if (record === undefined) {
    record = firstSight(given, uid, now, runtimeMayBeActive);
    workers.records.set(uid, record);
  }
  let update: PodUpdate = { ...given, runningPod: fromRuntimeOnly ? given.runningPod : null };
  let pod = given.pod;
  if (fromRuntimeOnly) {
    record.observedRuntime = true;
    const configured = record.pending?.pod ?? record.active?.pod ?? null;
    if (configured !== null) update = { ...update, pod: configured, runningPod: null };
    pod = configured ?? podOfRunning(given.runningPod as RunningPod);
  }
  assert(pod !== null, 'a pod update has a pod by now');
  if (!first && record.terminatingAt !== null && update.type === 'create') {
    // The same UID is wanted again while it goes away: remembered, and taken up by housekeeping once it is gone.
    record.restartRequested = true;
    return;
  }
  if (record.finished) return;
  const becameTerminating = record.terminatingAt === null && requestsTermination(record, update, pod, fromRuntimeOnly, now);
  const accepted = withTerminationFacts(record, update, pod, fromRuntimeOnly, effects);
  if (accepted === null) return;
  if (first && isStaticPod(pod)) pushWaiting(workers, record.fullName, uid);
  record.pending = { ...accepted.update, startTime: earliest(record.pending?.startTime ?? null, update.startTime) };
  if ((becameTerminating || accepted.graceShortened) && record.run !== null && !record.run.cancelled) {
    record.run.cancelled = true;
    effects.push({ kind: 'cancel', uid });
  }
  if (record.run === null) runPending(workers, record, now, effects);
}

function firstSight(given: PodUpdate, uid: string, now: Micros, runtimeMayBeActive: (uid: string) => boolean): PodWorkerRecord {
  const meta = given.pod?.metadata ?? (given.runningPod as RunningPod);
  const record = newRecord(uid, podFullName(meta.name, meta.namespace ?? ''), now);
  if (given.pod !== null && hasTerminalPhase(given.pod) && !runtimeMayBeActive(uid)) {
    // It ended before we (re)started and nothing of it runs: only the last step is left to do.
    record.terminatingAt = now;
    record.terminatedAt = now;
    record.startedTerminating = true;
  }
  return record;
}

function requestsTermination(record: PodWorkerRecord, update: PodUpdate, pod: Pod, fromRuntimeOnly: boolean, now: Micros): boolean {
  if (fromRuntimeOnly || pod.metadata.deletionTimestamp !== undefined) record.deleted = true;
  else if (hasTerminalPhase(pod)) record.evicted = record.evicted || false;
  else if (update.type === 'kill') record.evicted = update.killOptions?.evict ?? false;
  else return false;
  record.terminatingAt = now;
  return true;
}

/** Moves what must not be lost with the update onto the record. Null: there is nothing to run. */
function withTerminationFacts(
  record: PodWorkerRecord,
  update: PodUpdate,
  pod: Pod,
  fromRuntimeOnly: boolean,
  effects: PodWorkerEffect[],
): { readonly update: PodUpdate; readonly graceShortened: boolean } | null {
  const completion = update.killOptions?.completion ?? null;
  if (record.terminatedAt !== null && fromRuntimeOnly) return null;
  if (record.terminatedAt !== null || record.terminatingAt === null) {
    // Nothing to kill (any more): whoever waits is told at once.
    if (completion !== null) effects.push({ kind: 'complete', completion });
    return { update: { ...update, killOptions: null }, graceShortened: false };
  }
  if (completion !== null) record.completions.push(completion);
  if (update.killOptions?.statusChange != null) record.statusChanges.push(update.killOptions.statusChange);
  const grace = effectiveGracePeriod(record.gracePeriodSeconds, pod, update.killOptions?.gracePeriodOverride ?? null);
  record.gracePeriodSeconds = grace.seconds;
  const killOptions = { evict: update.killOptions?.evict ?? false, gracePeriodOverride: grace.seconds, statusChange: null, completion: null };
  return { update: { ...update, killOptions }, graceShortened: grace.shortened };
}

function pushWaiting(workers: PodWorkers, fullName: string, uid: string): void {
  const waiting = workers.waitingStaticPods.get(fullName);
  if (waiting === undefined) workers.waitingStaticPods.set(fullName, [uid]);
  else waiting.push(uid);
}

export function hasTerminalPhase(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** The least of a pod that a runtime-only pod can stand for. */
export function podOfRunning(running: RunningPod): Pod {
  return { metadata: { uid: running.uid, name: running.name, namespace: running.namespace }, spec: { containers: [] } };
}

function earliest(a: Micros | null, b: Micros | null): Micros | null {
  return a === null || b === null ? b : Math.min(a, b);
}
