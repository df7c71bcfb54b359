// The pod lifecycle event generator: turns listings of the runtime into lifecycle events and keeps the status cache fresh.
// A round is one listing and the inspections it asks for; a pod is inspected only when its listing changed or someone asked for it.
//
//   idle -- relisted / podRelisted --> inspecting -- inspected / inspectionFailed, one for each pod asked for --> idle
//   (a round that has nothing to inspect is over at once; a failed listing is no round, and changes nothing)
//
// Invariants: an event is delivered only after the cache holds a status that is as new as the event; while an inspection fails, its
// pod's record stays as it was, so the change is found again. A relist of unchanged pods allocates nothing for them.
import type { Micros } from '../../ports/micros.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { PortFailure } from '../../ports/port-error.js';
import { assert } from '../kernel/assert.js';
import { deleteFromPodCache, emptyPodStatus, markAllPodsObserved, markPodObserved, type PodCache, readPodCache, setPodCache } from '../pod-cache/pod-cache.js';
import { formatGoDuration } from '../values/go-duration.js';
import { comparePods, type PodChanges, type PodLifecycleEvent, type RelistedPod } from './lifecycle-events.js';

/** Events that may wait for their consumer; more are dropped and counted. */
export const plegEventQueueCapacity = 1000;
/** A relist that succeeded longer ago than this makes the node not ready. */
export const healthThreshold: Micros = 180_000_000;
/** The same where the runtime tells of changes, so that everything is relisted rarely. */
export const eventedHealthThreshold: Micros = 600_000_000;

interface PodRecord {
  /** The listing up to which events were delivered; null for a pod of which none were yet. */
  delivered: RelistedPod | null;
  /** The newest listing; null once the runtime no longer lists the pod. */
  listed: RelistedPod | null;
  /** Inspect at the next round even if nothing changed. */
  reinspect: boolean;
  /** The number of the last full relist that listed the pod. */
  seenIn: number;
}

interface Round {
  readonly kind: 'all' | 'pod';
  readonly startedAt: Micros;
  /** Pods whose inspection is awaited, with what to deliver after it. */
  readonly awaited: Map<string, PodChanges>;
}

/** Plain data, changed in place by the functions below. */
export interface Pleg {
  readonly records: Map<string, PodRecord>;
  readonly eventCapacity: number;
  readonly healthThreshold: Micros;
  readonly events: PodLifecycleEvent[];
  /** Events lost to a full queue, for the metric. */
  discardedEvents: number;
  round: Round | null;
  /** Number of the last full relist. */
  relists: number;
  /** Start of the last full relist that got its listing; null before the first. */
  lastRelist: Micros | null;
}

/** What a step did. Readers that wait for one of `updated`, or for anything at all when `globalTimeAdvanced`, can look again. */
export interface RelistOutcome {
  /** Pods to inspect; the round ends with the answer for the last of them. */
  readonly inspect: readonly string[];
  /** Pods whose cache entry was written. */
  readonly updated: readonly string[];
  /** Pods whose cache entry was deleted. */
  readonly deleted: readonly string[];
  /** Pods whose cache entry was found to be up to date by an on-demand relist. */
  readonly observed: readonly string[];
  readonly globalTimeAdvanced: boolean;
}

export function newPleg(eventCapacity = plegEventQueueCapacity, threshold = healthThreshold): Pleg {
  return { records: new Map(), eventCapacity, healthThreshold: threshold, events: [], discardedEvents: 0, round: null, relists: 0, lastRelist: null };
}

/** A full listing arrived. @param startedAt when the runtime was asked for it */
export function relisted(pleg: Pleg, cache: PodCache, pods: readonly RelistedPod[], startedAt: Micros): RelistOutcome {
  assert(pleg.round === null, 'a relist began while another one was not over');
  pleg.lastRelist = startedAt;
  pleg.relists++;
  pleg.round = { kind: 'all', startedAt, awaited: new Map() };
  const deleted: string[] = [];
  for (const pod of pods) {
    const record = recordOf(pleg, pod.uid);
    record.listed = pod;
    record.seenIn = pleg.relists;
    examine(pleg, pod.uid, record);
  }
  if (pleg.records.size > pods.length) {
    for (const [uid, record] of pleg.records) {
      if (record.seenIn === pleg.relists) continue;
      record.listed = null;
      if (dropGonePod(pleg, cache, uid, record)) deleted.push(uid);
    }
  }
  return endOfStep(pleg, cache, { inspect: [...pleg.round.awaited.keys()], updated: [], deleted });
}

/** Whether an on-demand relist that was asked for at `requestedAt` is still worth a listing. */
export function isPodRelistDue(pleg: Pleg, requestedAt: Micros): boolean {
  return pleg.lastRelist === null || requestedAt > pleg.lastRelist;
}

/** The listing of a single pod arrived. A pod that the runtime doesn't list (null) is left to the next full relist. */
export function podRelisted(pleg: Pleg, cache: PodCache, pod: RelistedPod | null, startedAt: Micros): RelistOutcome {
  assert(pleg.round === null, 'a relist of one pod began while another one was not over');
  if (pod === null) return { inspect: [], updated: [], deleted: [], observed: [], globalTimeAdvanced: false };
  const record = recordOf(pleg, pod.uid);
  record.listed = pod;
  record.seenIn = pleg.relists;
  pleg.round = { kind: 'pod', startedAt, awaited: new Map() };
  if (!examine(pleg, pod.uid, record)) {
    pleg.round = null;
    markPodObserved(cache, pod.uid, startedAt);
    return { inspect: [], updated: [], deleted: [], observed: [pod.uid], globalTimeAdvanced: false };
  }
  return { inspect: [pod.uid], updated: [], deleted: [], observed: [], globalTimeAdvanced: false };
}

/** The status of a pod that was to be inspected arrived; null when the pod vanished after it was listed. */
export function inspected(pleg: Pleg, cache: PodCache, uid: string, found: PodRuntimeStatus | null): RelistOutcome {
  const { changes, record } = settle(pleg, uid);
  const status = found ?? { ...emptyPodStatus(uid), observedAt: (pleg.round as Round).startedAt };
  setPodCache(cache, uid, { kind: 'status', status: withKeptIps(cache, uid, status) }, status.observedAt);
  const askedForOnly = changes.events.length === 0 && !changes.changed;
  deliver(pleg, askedForOnly ? [{ type: 'PodSync', uid }] : changes.events);
  record.reinspect = false;
  record.delivered = record.listed;
  return endOfStep(pleg, cache, { inspect: [], updated: [uid], deleted: [], last: uid });
}

/** An inspection failed. Readers get the error, the pod's events are withheld, and the next round inspects it again. @param askedAt when the runtime was asked */
export function inspectionFailed(pleg: Pleg, cache: PodCache, uid: string, error: PortFailure, askedAt: Micros): RelistOutcome {
  const { record } = settle(pleg, uid);
  setPodCache(cache, uid, { kind: 'failed', error }, askedAt);
  record.reinspect = true;
  return endOfStep(pleg, cache, { inspect: [], updated: [uid], deleted: [], last: uid });
}

/** Asks for a full inspection at the next round, changed or not. Nothing to do for a pod that the runtime doesn't have. */
export function requestReinspection(pleg: Pleg, uid: string): void {
  const record = pleg.records.get(uid);
  if (record !== undefined) record.reinspect = true;
}

/** Whether a pod waits for the next round to be inspected: an inspection of it failed, or somebody asked. */
export function isInspectionDue(pleg: Pleg): boolean {
  for (const { reinspect } of pleg.records.values()) if (reinspect) return true;
  return false;
}

/** Hands over the events that wait, oldest first. */
export function takePlegEvents(pleg: Pleg): PodLifecycleEvent[] {
  return pleg.events.splice(0);
}

/** null when relisting works; else the message of the node's condition. */
export function plegProblem(pleg: Pleg, now: Micros): string | null {
  if (pleg.lastRelist === null) return 'pleg has yet to be successful';
  const elapsed = now - pleg.lastRelist;
  if (elapsed <= pleg.healthThreshold) return null;
  return `pleg was last seen active ${formatGoDuration(elapsed)} ago; threshold is ${formatGoDuration(pleg.healthThreshold)}`;
}

function recordOf(pleg: Pleg, uid: string): PodRecord {
  const known = pleg.records.get(uid);
  if (known !== undefined) return known;
  const record: PodRecord = { delivered: null, listed: null, reinspect: false, seenIn: 0 };
  pleg.records.set(uid, record);
  return record;
}

/** Puts a listed pod up for inspection when it needs one. */
function examine(pleg: Pleg, uid: string, record: PodRecord): boolean {
  const changes = comparePods(uid, record.delivered, record.listed);
  if (changes.events.length === 0 && !changes.changed && !record.reinspect) {
    record.delivered = record.listed;
    return false;
  }
  (pleg.round as Round).awaited.set(uid, changes);
  return true;
}

/** Ends the life of a pod that is no longer listed: there is nothing left to inspect. False when it never had anything to tell of. */
function dropGonePod(pleg: Pleg, cache: PodCache, uid: string, record: PodRecord): boolean {
  const { events } = comparePods(uid, record.delivered, null);
  pleg.records.delete(uid);
  if (events.length === 0 && !record.reinspect) return false;
  deleteFromPodCache(cache, uid);
  deliver(pleg, events.length === 0 ? [{ type: 'PodSync', uid }] : events);
  return true;
}

function settle(pleg: Pleg, uid: string): { readonly changes: PodChanges; readonly record: PodRecord } {
  const changes = pleg.round?.awaited.get(uid);
  const record = pleg.records.get(uid);
  assert(changes !== undefined && record !== undefined, `no inspection of pod ${uid} was asked for`);
  pleg.round?.awaited.delete(uid);
  return { changes, record };
}

function endOfStep(
  pleg: Pleg,
  cache: PodCache,
  step: { readonly inspect: readonly string[]; readonly updated: readonly string[]; readonly deleted: readonly string[]; readonly last?: string },
): RelistOutcome {
  const { inspect, updated, deleted } = step;
  const round = pleg.round as Round;
  if (round.awaited.size > 0) return { inspect, updated, deleted, observed: [], globalTimeAdvanced: false };
  pleg.round = null;
  if (round.kind === 'all') {
    markAllPodsObserved(cache, round.startedAt);
    return { inspect, updated, deleted, observed: [], globalTimeAdvanced: true };
  }
  const observed = step.last === undefined ? [] : [step.last];
  for (const uid of observed) markPodObserved(cache, uid, round.startedAt);
  return { inspect, updated, deleted, observed, globalTimeAdvanced: false };
}

/** A pod keeps its addresses in the API after its sandbox has stopped, when the runtime no longer tells them. */
function withKeptIps(cache: PodCache, uid: string, status: PodRuntimeStatus): PodRuntimeStatus {
  if (status.ips.length > 0 || status.sandboxes.some((sandbox) => sandbox.state === 'ready')) return status;
  const known = readPodCache(cache, uid);
  return known.kind === 'failed' || known.status.ips.length === 0 ? status : { ...status, ips: known.status.ips };
}

function deliver(pleg: Pleg, events: readonly PodLifecycleEvent[]): void {
  for (const event of events) {
    if (pleg.events.length < pleg.eventCapacity) pleg.events.push(event);
    else pleg.discardedEvents++;
  }
}
