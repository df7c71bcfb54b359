// Keeps one mirror pod in the API for each running static pod, and deletes those without a static pod. Reconciled whenever
// a static pod is synced, its mirror changes, or the node's object does; failures are retried, and never keep a pod from running.
//
//   right -> at rest;  wrong -> delete -> create;  none -> create -> seen by the watch;  no node to own it -> waits for the node
//
// Invariants: deletions have a UID precondition and no grace period; no mirror is created before the API's pods have been read once, nor while a
// pod is terminating; one request in flight a full name.

import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import { nextPause } from '../../backoff/doubled-pause.js';
import { assert } from '../../kernel/assert.js';
import type { Address } from '../../kernel/machine.js';
import { mirrorPlan, mirrorPod } from '../../pod-sources/mirror-pod.js';
import type { PodWorkerRecord } from '../../pod-workers/pod-worker-record.js';
import { isPodForMirrorPodTerminatingByFullName } from '../../pod-workers/queries.js';
import { illegalTransition } from '../../status/status-manager.js';
import { isMirrorPod, isStaticPod } from '../../values/pod-kind.js';
import { podFullNameOf } from '../../values/pod-references.js';
import { isNewerVersion } from '../../values/resource-version.js';
import type { AgentContext } from '../agent-context.js';
import { requestCleanUp } from '../housekeeping/requests.js';
import type { AnswerOf } from '../part.js';
import { orphanMirrors, uidOf } from '../pod-manager/pod-index.js';
import type { ApiState } from '../reflectors/api-state.js';
import { cachedObject, ownNode } from '../reflectors/api-state.js';
import { asMirrorClient, type MirrorClientContext } from './slice.js';

const timeout: Micros = 60_000_000;
const shortestPause: Micros = 1_000_000;
const longestPause: Micros = 60_000_000;
const request = 'request';

export const mirrorMachine = 'mirror';

function addressOf(fullName: string): Address {
  return { machine: mirrorMachine, key: fullName };
}

/** The node's object or the list of the API's pods has come: every static pod may get its mirror now. */
export function reconcileAllMirrors(context: AgentContext): void {
  for (const pod of context.state.pods.pods.values()) if (isStaticPod(pod)) context.forPod(uidOf(pod), () => reconcileMirror(context, pod));
}

/** A pod of the API came, changed or went that is a mirror. */
export function mirrorShown(caller: AgentContext, mirror: Pod, isGone: boolean): void {
  const context = asMirrorClient(caller);
  const { api, pods } = context.state;
  if (api === null || !isMirrorPod(mirror)) return;
  const fullName = podFullNameOf(mirror);
  if (api.mirrors.made.get(fullName) === uidOf(mirror)) api.mirrors.made.delete(fullName);
  if (!isGone) api.mirrors.pauses.delete(fullName);
  if (isGone && api.mirrors.unmade.get(fullName) === uidOf(mirror)) api.mirrors.unmade.delete(fullName);
  const pod = pods.podsByFullName.get(fullName);
  if (pod !== undefined && isStaticPod(pod)) reconcileMirror(context, pod);
}

/** Compares a static pod with its mirror and does the next thing about it. */
export function reconcileMirror(caller: AgentContext, pod: Pod): void {
  const context = asMirrorClient(caller);
  const { state, turn } = context;
  const { api, workers } = state;
  const fullName = podFullNameOf(pod);
  const record = workers.records.get(uidOf(pod));
  if (api === null || api.reflectors.get('pods')?.synced !== true || record?.startedAt == null || isTerminating(record)) return;
  if (turn.inFlight(addressOf(fullName), request) || api.mirrors.made.has(fullName)) return;
  const mirror = shownMirror(context, fullName);
  const node = ownNode(api);
  const plan = mirrorPlan(pod, mirror, node);
  if (mirror !== null && (plan === 'delete' || showsEarlierLife(context, pod, mirror))) deleteMirror(context, mirror);
  if (plan !== 'create' || node === null) return;
  // Not for each try of one that fails.
  if (!api.mirrors.pauses.has(fullName)) turn.log('info', 'Creating a mirror pod for static pod', { pod: fullName });
  const { namespace = '' } = pod.metadata;
  const object = mirrorPod(pod, node);
  turn.ask('apiWriter.create', addressOf(fullName), request, { ...pods, namespace, name: null, subresource: null, object }, timeout);
}

/** The pod runs again under its UID, and its mirror's container statuses can't be reverted. */
function showsEarlierLife({ state }: MirrorClientContext, pod: Pod, mirror: Pod): boolean {
  const status = state.statuses.get(uidOf(pod))?.status;
  return status !== undefined && illegalTransition(pod, mirror.status ?? {}, status) !== null;
}

/** Until it has ended its mirror is unchanged; afterwards it is reported as ended. */
function isTerminating({ terminatingAt, terminatedAt }: Pick<PodWorkerRecord, 'terminatingAt' | 'terminatedAt'>): boolean {
  return terminatingAt !== null && terminatedAt === null;
}

/** Deletes the mirrors of removed static pods. Not before every source has been read. */
export function deleteOrphanMirrors(caller: AgentContext): void {
  const context = asMirrorClient(caller);
  const { state, turn } = context;
  if (state.api === null) return;
  for (const mirror of orphanMirrors(state.pods)) {
    const fullName = podFullNameOf(mirror);
    if (state.adoption.awaited.has(fullName) || isPodForMirrorPodTerminatingByFullName(state.workers, fullName) || turn.inFlight(addressOf(fullName), request)) continue;
    if (shownMirror(context, fullName) !== null) deleteMirror(context, mirror);
  }
  const { made, unmade, pauses } = state.api.mirrors;
  for (const kept of [made, unmade, pauses])
    for (const fullName of kept.keys()) if (!state.pods.mirrorsByFullName.has(fullName) && !state.pods.podsByFullName.has(fullName)) kept.delete(fullName);
}

export function mirrorCreated(context: MirrorClientContext, fullName: string, { outcome }: AnswerOf<'apiWriter.create'>): void {
  const { api } = context.state;
  assert(api !== null, 'a mirror pod was created without an apiserver', fullName);
  if (!outcome.ok) {
    failed(context, fullName, 'Failed creating a mirror pod for', outcome.error.message);
    return;
  }
  const { uid = '', resourceVersion } = outcome.value.metadata;
  const seen = api.reflectors.get('pods')?.resourceVersion ?? undefined;
  // The watch may have been faster.
  if (seen !== resourceVersion && !isNewerVersion(seen, resourceVersion)) api.mirrors.made.set(fullName, uid);
  // Its pod was removed during the creation: a check for such mirrors meanwhile has skipped this one.
  if (!reconciled(context, api, fullName)) requestCleanUp(context.state);
}

export function mirrorDeleted(context: MirrorClientContext, fullName: string, { outcome }: AnswerOf<'apiWriter.delete'>): void {
  const { api } = context.state;
  assert(api !== null, 'a mirror pod was deleted without an apiserver', fullName);
  const asked = api.mirrors.deleting.get(fullName);
  assert(asked !== undefined, 'a mirror pod was deleted that is not being deleted', fullName);
  api.mirrors.deleting.delete(fullName);
  const mirror = shownMirror(context, fullName);
  const isShown = mirror !== null && uidOf(mirror) === asked;
  if (outcome.ok || outcome.error.kind === 'not-found') {
    // The watch may still have to show it, or may have shown it while the request was in flight.
    if (isShown) api.mirrors.unmade.set(fullName, asked);
  } else if (outcome.error.kind !== 'aborted') {
    failed(context, fullName, 'Failed deleting a mirror pod', outcome.error.message);
    return;
  } else if (isShown) {
    // Another pod has that name, which the watch shows next.
    pause(context, fullName);
    return;
  }
  reconciled(context, api, fullName);
}

/** A request succeeded: the next one, if any. False: no static pod of this name is left. */
function reconciled(context: MirrorClientContext, { mirrors }: Pick<ApiState, 'mirrors'>, fullName: string): boolean {
  const { state, turn } = context;
  mirrors.pauses.delete(fullName);
  turn.wakeAt(addressOf(fullName), null);
  const pod = state.pods.podsByFullName.get(fullName);
  if (pod === undefined || !isStaticPod(pod)) return false;
  reconcileMirror(context, pod);
  return true;
}

/** Time for another try. */
export function mirrorWoken(context: MirrorClientContext, fullName: string): void {
  const pod = context.state.pods.podsByFullName.get(fullName);
  if (pod !== undefined && isStaticPod(pod)) reconcileMirror(context, pod);
  else requestCleanUp(context.state);
}

function failed(context: MirrorClientContext, fullName: string, what: string, err: string): void {
  context.turn.log('error', what, { pod: fullName, err });
  pause(context, fullName);
}

function pause({ state, turn }: MirrorClientContext, fullName: string): void {
  const pauses = state.api?.mirrors.pauses;
  if (pauses === undefined) return;
  const micros = nextPause(pauses.get(fullName) ?? 0, shortestPause, longestPause);
  pauses.set(fullName, micros);
  turn.wakeAt(addressOf(fullName), turn.now + Math.floor(micros * (1 + 0.5 * turn.random('pause', fullName))));
}

const pods = { resource: { group: '', version: 'v1', plural: 'pods' }, client: 'main' } as const;

function deleteMirror(context: MirrorClientContext, mirror: Pod): void {
  const { turn } = context;
  const fullName = podFullNameOf(mirror);
  const { name, namespace = '', uid = '' } = mirror.metadata;
  if (context.state.api?.mirrors.pauses.has(fullName) !== true) turn.log('info', 'Deleting a mirror pod', { pod: fullName });
  context.state.api?.mirrors.deleting.set(fullName, uid);
  turn.ask('apiWriter.delete', addressOf(fullName), request, { ...pods, namespace, name, gracePeriodSeconds: 0, uid }, timeout);
}

/** The mirror in the API, if known; one that was just deleted no longer counts. */
function shownMirror({ state: { api } }: MirrorClientContext, fullName: string): Pod | null {
  const underscore = fullName.lastIndexOf('_');
  const shown = cachedObject(api, 'pods', fullName.slice(underscore + 1), fullName.slice(0, underscore)) as Pod | null;
  if (shown === null || !isMirrorPod(shown)) return null;
  return api?.mirrors.unmade.get(fullName) === uidOf(shown) ? null : shown;
}

/** The node's pods have been listed: awaited mirrors are among them or never appear. */
export function mirrorsListed(context: AgentContext): void {
  const { state } = asMirrorClient(context);
  state.api?.mirrors.made.clear();
  state.api?.mirrors.unmade.clear();
}
