// Handles a pod update: applies it to the record, stores it as the pending one, and lets the worker run if it may.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { assert } from '../kernel/assert.js';
import { isStaticPod } from '../values/pod-kind.js';
import { podFullName } from '../values/pod-references.js';
import type { PodWorkerEffect } from './effects.js';
import { effectiveGracePeriod } from './grace-period.js';
import { type KillPodOptions, newRecord, type PodUpdate, type PodWorkerRecord, type PodWorkers, type RunningPod } from './pod-worker-record.js';
import { runPending } from './run-pod.js';

/**
 * Delivers an update to the worker of its UID. An update names a pod, or a running pod that has no configuration (then only a kill
 * counts), or both (then the running pod is ignored). `runtimeMayBeActive` returns whether the runtime's cached status has a running
 * container or a ready sandbox, or is unreadable; it is called only for pods that are first seen in a terminal phase.
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
  if (fromRuntimeOnly) record.observedRuntime = true;
  const configured = fromRuntimeOnly ? (record.pending?.pod ?? record.active?.pod ?? null) : given.pod;
  const pod = configured ?? podOfRunning(given.runningPod as RunningPod);
  if (!first && record.terminatingAt !== null && given.type === 'create') {
    // The UID is wanted again during its termination: recorded, and housekeeping starts it again after its removal.
    record.restartRequested = true;
    return;
  }
  if (record.finished) return;
  const becameTerminating = record.terminatingAt === null && requestsTermination(record, given, pod, fromRuntimeOnly, now);
  const accepted = withTerminationFacts(record, given.killOptions, pod, fromRuntimeOnly, effects);
  if (accepted === null) return;
  if (first && isStaticPod(pod)) pushWaiting(workers, record.fullName, uid);
  // Written out: copying an update with changes costs several times as much, and this happens at every sync.
  record.pending = {
    type: given.type,
    pod: configured,
    mirrorPod: given.mirrorPod,
    runningPod: configured === null ? given.runningPod : null,
    killOptions: accepted.killOptions,
    startTime: earliest(record.pending?.startTime ?? null, given.startTime),
  };
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
    // It terminated before we (re)started and none of its containers runs: only the last step remains.
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

interface Accepted {
  readonly killOptions: KillPodOptions | null;
  readonly graceShortened: boolean;
}

const nothingToKill: Accepted = { killOptions: null, graceShortened: false };

/** Moves termination data of the update onto the record. Null: no run is needed. */
function withTerminationFacts(record: PodWorkerRecord, given: KillPodOptions | null, pod: Pod, fromRuntimeOnly: boolean, effects: PodWorkerEffect[]): Accepted | null {
  const completion = given?.completion ?? null;
  if (record.terminatedAt !== null && fromRuntimeOnly) return null;
  if (record.terminatedAt !== null || record.terminatingAt === null) {
    // No containers (any more): completes at once.
    if (completion !== null) effects.push({ kind: 'complete', completion });
    return nothingToKill;
  }
  if (completion !== null) record.completions.push(completion);
  if (given?.statusChange != null) record.statusChanges.push(given.statusChange);
  const grace = effectiveGracePeriod(record.gracePeriodSeconds, pod, given?.gracePeriodOverride ?? null);
  record.gracePeriodSeconds = grace.seconds;
  const killOptions = { evict: given?.evict ?? false, gracePeriodOverride: grace.seconds, statusChange: null, completion: null };
  return { killOptions, graceShortened: grace.shortened };
}

function pushWaiting(workers: PodWorkers, fullName: string, uid: string): void {
  const waiting = workers.waitingStaticPods.get(fullName);
  if (waiting === undefined) workers.waitingStaticPods.set(fullName, [uid]);
  else waiting.push(uid);
}

function hasTerminalPhase(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** The minimal pod object for a pod that only the runtime knows. */
export function podOfRunning(running: RunningPod): Pod {
  return { metadata: { uid: running.uid, name: running.name, namespace: running.namespace }, spec: { containers: [] } };
}

function earliest(a: Micros | null, b: Micros | null): Micros | null {
  return a === null || b === null ? b : Math.min(a, b);
}
