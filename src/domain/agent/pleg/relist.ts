// Relists the runtime: everything once a second if it sends no events (otherwise rarely, as a safety net), and single pods on
// request. Changes go to the cache, to the workers that wait for them, and to the sync loop.
//
//   complete:   list everything -> done, the next one is planned; changed pods are inspected one by one
//   single pod: list and inspect one pod -> done; several run concurrently, also with a complete listing
//
// Invariant: older data never replaces newer data: an answer that differs and whose order is uncertain is requested again.

import type { Micros } from '../../../ports/micros.js';
import type { ListedPod } from '../../../ports/model/runtime-listing.js';
import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';
import type { PortFailure } from '../../../ports/port-error.js';
import { assert } from '../../kernel/assert.js';
import type { PodLifecycleEvent } from '../../pleg/lifecycle-events.js';
import { inspected, inspectionFailed, isInspectionAwaited, isLookOutdated, podRelisted, type RelistOutcome, relisted, takePlegEvents } from '../../pleg/pleg.js';
import { deleteFromPodCache, emptyPodStatus, noteMoments, setPodCache } from '../../pod-cache/pod-cache.js';
import { collectAfterDeath } from '../container-gc/dead-containers.js';
import { requestCollection } from '../container-gc/requests.js';
import { requestCleanUp } from '../housekeeping/requests.js';
import type { AnswerOf } from '../part.js';
import { inheritPods, successorOf } from '../pod-config/inherited-pods.js';
import { resumeAwaiting } from '../pod-workers/worker-effects.js';
import { syncPods } from '../sync-loop/sync-loop.js';
import { forgetDenied, noteDenied } from './denied-items.js';
import { beginLooks, pauseAfter, planLookAfterFailure, relistAddress, requestInspection } from './looks.js';
import type { PodRelist } from './relist-state.js';
import type { PlegContext } from './slice.js';

/** The period of complete listings if the runtime sends events. */
const safetyNetPeriod: Micros = 300_000_000;

export function podRelistReplied(context: PlegContext, reply: AnswerOf<'runtime.inspectPod'>): void {
  const { relist, awaitingStatus } = context.state;
  const uid = reply.slot.slice('look/'.length);
  const askedAt = relist.looks.get(uid);
  assert(askedAt !== undefined, 'a pod was inspected that no relist waits for', uid);
  relist.looks.delete(uid);
  if (reply.outcome.ok) {
    if (!relist.denied.has(uid)) relist.failures.delete(uid);
    takeLook(context, { uid, askedAt, found: reply.outcome.value });
    // An inspection that began at the time when its worker began to wait is not newer.
    if (awaitingStatus.has(uid)) relist.requests.set(uid, context.turn.now);
  } else lookFailed(context, uid, askedAt, reply.outcome.error);
  beginLooks(context);
}

/** A worker that waits for a pod that is known to have changed gets the error; after a mere request the next complete listing decides. */
function lookFailed(context: PlegContext, uid: string, askedAt: Micros, error: PortFailure): void {
  const { turn, state } = context;
  turn.log('error', 'PLEG: on-demand relist failed', { podUID: uid, err: error.message });
  planLookAfterFailure(context, uid);
  if (isInspectionAwaited(state.pleg, uid)) take(context, inspectionFailed(state.pleg, state.cache, uid, error, askedAt));
  else if (state.awaitingStatus.has(uid)) planRelist(context, state.settings.relistPeriod);
}

/** A single-pod relist is a listing of the pod and its inspection in one. */
function takeLook(context: PlegContext, { uid, askedAt, found }: PodRelist): void {
  const { pleg, cache } = context.state;
  if (found === null && !pleg.records.has(uid)) {
    // Neither we nor the runtime have ever seen anything of it: that too is news to a worker that waits.
    setPodCache(cache, uid, { kind: 'status', status: { ...emptyPodStatus(uid), observedAt: askedAt } }, askedAt);
    resumeAwaiting(context, [uid]);
    return;
  }
  const listing = found === null ? { uid, name: '', namespace: '', sandboxes: [], containers: [] } : listingOf(found);
  if (isLookOutdated(pleg, listing, askedAt)) {
    context.state.relist.requests.set(uid, context.turn.now);
    return;
  }
  if (noteDenied(context, uid, found) && context.state.settings.runtimeSendsEvents) planRelist(context, context.state.settings.relistPeriod);
  if (found !== null) noteMoments(cache, found, context.turn);
  const outcome = podRelisted(pleg, cache, listing, found?.observedAt ?? askedAt, context.turn.now);
  take(context, outcome.inspect.length === 0 ? outcome : inspected(pleg, cache, uid, found));
}

export function relistReplied(context: PlegContext, reply: AnswerOf<'runtime.listPods'>): void {
  const { state, turn } = context;
  const { relist, pleg, cache } = state;
  assert(relist.listing, 'pods were listed that no relist waits for');
  relist.listing = false;
  if (!reply.outcome.ok) {
    turn.log('error', 'GenericPLEG: Unable to retrieve pods', { err: reply.outcome.error.message });
    relist.failedLists++;
    relist.again = false;
    planRelist(context, pauseAfter(relist.failedLists, state.settings.relistPeriod));
    return;
  }
  relist.failedLists = 0;
  const listing = reply.outcome.value;
  if (relist.newest === null) inheritPods(context, listing.pods);
  relist.newest = listing;
  take(context, relisted(pleg, cache, listing.pods, listing.observedAt, turn.now));
  forgetDenied(context, listing.pods);
  // A pod that vanished without an event stays cached for its worker; a pod that was forgotten before has none.
  for (const uid of cache.entries.keys()) if (!pleg.records.has(uid) && !state.workers.records.has(uid) && !state.pods.pods.has(uid)) deleteFromPodCache(cache, uid);
}

function take(context: PlegContext, outcome: RelistOutcome): void {
  const { state } = context;
  for (const uid of outcome.inspect) requestInspection(context, uid);
  if (outcome.globalTimeAdvanced) {
    planRelist(context, state.settings.runtimeSendsEvents ? safetyNetPeriod : state.settings.relistPeriod);
    resumeAwaiting(context, null);
  } else {
    for (const uids of [outcome.updated, outcome.deleted, outcome.observed]) if (uids.length > 0) resumeAwaiting(context, uids);
  }
  dispatchEvents(context);
  beginLooks(context);
}

function planRelist({ state, turn }: PlegContext, after: Micros): void {
  const { listing, again } = state.relist;
  if (!listing) turn.wakeAt(relistAddress, again ? turn.now : turn.now + after);
}

function dispatchEvents(context: PlegContext): void {
  const { state } = context;
  if (state.pleg.events.length === 0) return;
  const changed = new Set<string>();
  for (const event of takePlegEvents(state.pleg)) context.forPod(event.uid, () => dispatchEvent(context, event, changed));
  if (changed.size > 0) syncPods(context, changed);
}

function dispatchEvent(context: PlegContext, event: PodLifecycleEvent, changed: Set<string>): void {
  const { state } = context;
  const { type, uid } = event;
  if (event.type === 'ContainerDied') collectAfterDeath(context, uid, event.containerId);
  if (type !== 'ContainerRemoved' && state.pods.pods.has(uid)) changed.add(uid);
  const successor = successorOf(context, uid);
  if (successor !== null) changed.add(successor);
  // A change of a pod without a worker needs housekeeping; a removal doesn't.
  if (type !== 'ContainerRemoved' && !state.workers.records.has(uid)) requestCleanUp(state);
  requestCollection(state);
}

function listingOf({ uid, name, namespace, sandboxes, containers }: PodRuntimeStatus): ListedPod {
  return { uid, name, namespace, sandboxes, containers: containers.map((container) => ({ ...container, attempt: container.restartCount })) };
}
