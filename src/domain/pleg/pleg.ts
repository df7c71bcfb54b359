// The pod lifecycle event generator: turns listings of the runtime into lifecycle events and keeps the status cache fresh.
// A pod is inspected only when its listing changed or on request, each by itself: listings continue meanwhile.
//
//   a pod:  at rest -- relisted / podRelisted: changed, or requested --> awaited -- inspected / inspectionFailed / gone --> at rest
//   (a failed listing changes nothing)
//
// Invariants: an event is delivered only after the cache holds a status that is as new as the event; while an inspection is awaited or
// fails, its pod's record stays as it was, so the change is found again, and full relists don't refresh its cached status; of two
// answers of uncertain order, the one that would change the known state is dropped. A relist of unchanged pods allocates nothing for them.
import type { Micros } from '../../ports/micros.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { PortFailure } from '../../ports/port-error.js';
import { assert } from '../kernel/assert.js';
import type { View } from '../kernel/view.js';
import {
  deleteFromPodCache,
  emptyPodStatus,
  markAllPodsObserved,
  markPodBehind,
  markPodCaughtUp,
  markPodObserved,
  type PodCache,
  readPodCache,
  setPodCache,
} from '../pod-cache/pod-cache.js';
import { formatGoDuration } from '../values/go-duration.js';
import { comparePods, type PodChanges, type PodLifecycleEvent, type RelistedPod } from './lifecycle-events.js';

/** Events that may wait for their consumer; more are dropped and counted. */
export const plegEventQueueCapacity = 1000;
/** A relist that succeeded longer ago than this makes the node not ready. */
export const healthThreshold: Micros = 180_000_000;
/** The same for a runtime with events, for which full relists are rare. */
export const eventedHealthThreshold: Micros = 600_000_000;

interface PodRecord {
  /** The listing up to which events were delivered; null for a pod of which none were yet. */
  delivered: RelistedPod | null;
  /** The newest listing; null once the runtime no longer lists the pod. */
  listed: RelistedPod | null;
  /** Inspect at the next listing even if nothing changed. */
  reinspect: boolean;
  /** The number of the last full relist that listed the pod. */
  seenIn: number;
  /** When the last answer about this pod alone came; null: none has. */
  lookedAt: Micros | null;
}

/** An inspection that is awaited. */
interface Inspection {
  /** What to deliver after it. */
  readonly changes: PodChanges;
  readonly kind: 'all' | 'pod';
  /** When the listing was requested from the runtime. */
  readonly startedAt: Micros;
}

/** Plain data, changed in place by the functions below. */
export interface Pleg {
  readonly records: Map<string, PodRecord>;
  readonly eventCapacity: number;
  readonly healthThreshold: Micros;
  readonly events: PodLifecycleEvent[];
  /** Events lost to a full queue, for the metric. */
  discardedEvents: number;
  readonly awaited: Map<string, Inspection>;
  /** Number of the last full relist. */
  relists: number;
  /** Start of the last full relist that got its listing; null before the first. */
  lastRelist: Micros | null;
  /** When its answer came. */
  lastRelistAnswered: Micros | null;
}

/** The result of a step. Readers that wait for one of `updated`, or for any pod when `globalTimeAdvanced`, can read again. */
export interface RelistOutcome {
  /** Pods to inspect. */
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
  return {
    records: new Map(),
    eventCapacity,
    healthThreshold: threshold,
    events: [],
    discardedEvents: 0,
    awaited: new Map(),
    relists: 0,
    lastRelist: null,
    lastRelistAnswered: null,
  };
}

/**
 * Takes a full listing.
 * @param startedAt when it was requested
 * @param answeredAt when the answer came
 */
export function relisted(pleg: Pleg, cache: PodCache, pods: readonly RelistedPod[], startedAt: Micros, answeredAt: Micros = startedAt): RelistOutcome {
  pleg.relists++;
  const inspect: string[] = [];
  const deleted: string[] = [];
  for (const pod of pods) {
    const record = recordOf(pleg, pod.uid);
    record.seenIn = pleg.relists;
    if (!mayBeOutdated(record, startedAt) || !differs(pod.uid, record.listed, pod)) record.listed = pod;
    else record.reinspect = true;
    if (examine(pleg, cache, pod.uid, 'all', startedAt)) inspect.push(pod.uid);
  }
  if (pleg.records.size > pods.length) {
    for (const [uid, record] of pleg.records) {
      if (record.seenIn === pleg.relists) continue;
      if (mayBeOutdated(record, startedAt) && hasItems(record.listed)) {
        record.reinspect = true;
        if (examine(pleg, cache, uid, 'all', startedAt)) inspect.push(uid);
        continue;
      }
      record.listed = null;
      if (dropGonePod(pleg, cache, uid, record)) deleted.push(uid);
    }
  }
  for (const uid of inspect) markPodBehind(cache, uid);
  pleg.lastRelist = startedAt;
  pleg.lastRelistAnswered = answeredAt;
  markAllPodsObserved(cache, startedAt);
  return { inspect, updated: [], deleted, observed: [], globalTimeAdvanced: true };
}

/** Whether an on-demand relist requested at `requestedAt` still needs a listing. */
export function isPodRelistDue(pleg: Pleg, requestedAt: Micros): boolean {
  return pleg.lastRelist === null || requestedAt > pleg.lastRelist;
}

/** Whether a listing that may be newer than this inspection's answer differs from it: then the pod must be inspected again. */
export function isLookOutdated(pleg: Pleg, pod: RelistedPod, askedAt: Micros): boolean {
  if (pleg.lastRelistAnswered === null || askedAt >= pleg.lastRelistAnswered) return false;
  return differs(pod.uid, pleg.records.get(pod.uid)?.listed ?? null, pod);
}

/** Whether a pod's status is awaited that a listing has found changed. */
export function isInspectionAwaited(pleg: Pleg, uid: string): boolean {
  return pleg.awaited.has(uid);
}

/**
 * Takes the listing of one pod. A pod that the runtime doesn't list (null) is left to the next full relist.
 * @param answeredAt when the answer came
 */
export function podRelisted(pleg: Pleg, cache: PodCache, pod: RelistedPod | null, startedAt: Micros, answeredAt: Micros = startedAt): RelistOutcome {
  if (pod === null) return { inspect: [], updated: [], deleted: [], observed: [], globalTimeAdvanced: false };
  const record = recordOf(pleg, pod.uid);
  record.listed = pod;
  record.lookedAt = answeredAt;
  record.seenIn = pleg.relists;
  if (!examine(pleg, cache, pod.uid, 'pod', startedAt)) {
    markPodObserved(cache, pod.uid, startedAt);
    return { inspect: [], updated: [], deleted: [], observed: [pod.uid], globalTimeAdvanced: false };
  }
  return { inspect: [pod.uid], updated: [], deleted: [], observed: [], globalTimeAdvanced: false };
}

/** The status of a pod that was to be inspected arrived; null when the pod vanished after it was listed. */
export function inspected(pleg: Pleg, cache: PodCache, uid: string, found: PodRuntimeStatus | null): RelistOutcome {
  const { inspection, record } = settle(pleg, cache, uid);
  const { changes, startedAt } = inspection;
  const status = found ?? { ...emptyPodStatus(uid), observedAt: startedAt };
  setPodCache(cache, uid, { kind: 'status', status: withKeptIps(cache, uid, status) }, status.observedAt);
  const askedForOnly = changes.events.length === 0 && !changes.changed;
  deliver(pleg, askedForOnly ? [{ type: 'PodSync', uid }] : changes.events);
  record.reinspect = false;
  record.delivered = record.listed;
  return endOfInspection(cache, uid, inspection);
}

/**
 * Takes a failed inspection. Readers get the error, the pod's events are withheld, and the next listing inspects the pod again.
 * @param askedAt when the inspection was requested
 */
export function inspectionFailed(pleg: Pleg, cache: PodCache, uid: string, error: PortFailure, askedAt: Micros): RelistOutcome {
  const { inspection, record } = settle(pleg, cache, uid);
  setPodCache(cache, uid, { kind: 'failed', error }, askedAt);
  record.reinspect = true;
  return endOfInspection(cache, uid, inspection);
}

/** Requests a full inspection at the next listing, changed or not. Does nothing for a pod that the runtime doesn't have. */
export function requestReinspection(pleg: Pleg, uid: string): void {
  const record = pleg.records.get(uid);
  if (record !== undefined) record.reinspect = true;
}

/** Takes the queued events, oldest first. */
export function takePlegEvents(pleg: Pleg): PodLifecycleEvent[] {
  return pleg.events.splice(0);
}

/** null when relisting works; else the message of the node's condition. */
export function plegProblem(pleg: View<Pleg>, now: Micros): string | null {
  if (pleg.lastRelist === null) return 'pleg has yet to be successful';
  const elapsed = now - pleg.lastRelist;
  if (elapsed <= pleg.healthThreshold) return null;
  return `pleg was last seen active ${formatGoDuration(elapsed)} ago; threshold is ${formatGoDuration(pleg.healthThreshold)}`;
}

function recordOf(pleg: Pleg, uid: string): PodRecord {
  const known = pleg.records.get(uid);
  if (known !== undefined) return known;
  const record: PodRecord = { delivered: null, listed: null, reinspect: false, seenIn: 0, lookedAt: null };
  pleg.records.set(uid, record);
  return record;
}

/** Whether a listing requested at `startedAt` may be older than the pod's known state. */
function mayBeOutdated({ lookedAt }: PodRecord, startedAt: Micros): boolean {
  return lookedAt !== null && lookedAt > startedAt;
}

function differs(uid: string, before: RelistedPod | null, after: RelistedPod | null): boolean {
  const { events, changed } = comparePods(uid, before, after);
  return changed || events.length > 0;
}

function hasItems(pod: RelistedPod | null): boolean {
  return pod !== null && pod.containers.length + pod.sandboxes.length > 0;
}

/** Puts a listed pod up for inspection when it needs one. */
function examine(pleg: Pleg, cache: PodCache, uid: string, kind: Inspection['kind'], startedAt: Micros): boolean {
  const record = recordOf(pleg, uid);
  const changes = comparePods(uid, record.delivered, record.listed);
  if (changes.events.length === 0 && !changes.changed && !record.reinspect) {
    record.delivered = record.listed;
    if (pleg.awaited.delete(uid)) markPodCaughtUp(cache, uid);
    return false;
  }
  pleg.awaited.set(uid, { changes, kind, startedAt });
  return true;
}

/** Drops a pod that is no longer listed: no inspection is needed. False if it never had an event. */
function dropGonePod(pleg: Pleg, cache: PodCache, uid: string, record: PodRecord): boolean {
  const { events } = comparePods(uid, record.delivered, null);
  pleg.records.delete(uid);
  pleg.awaited.delete(uid);
  markPodCaughtUp(cache, uid);
  if (events.length === 0 && !record.reinspect) return false;
  deleteFromPodCache(cache, uid);
  deliver(pleg, events.length === 0 ? [{ type: 'PodSync', uid }] : events);
  return true;
}

function settle(pleg: Pleg, cache: PodCache, uid: string): { readonly inspection: Inspection; readonly record: PodRecord } {
  const inspection = pleg.awaited.get(uid);
  const record = pleg.records.get(uid);
  assert(inspection !== undefined && record !== undefined, `no inspection of pod ${uid} was asked for`);
  pleg.awaited.delete(uid);
  markPodCaughtUp(cache, uid);
  return { inspection, record };
}

function endOfInspection(cache: PodCache, uid: string, { kind, startedAt }: Inspection): RelistOutcome {
  if (kind === 'pod') markPodObserved(cache, uid, startedAt);
  return { inspect: [], updated: [uid], deleted: [], observed: kind === 'pod' ? [uid] : [], globalTimeAdvanced: false };
}

/** A pod keeps its addresses in the API after its sandbox has stopped, when the runtime no longer reports them. */
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
